#include <core/base/phase_timer.h>
#include <core/base/quote.h>
#include <core/report/denoising_view.h>
#include <core/report/format.h>
#include <core/report/progress.h>

#include <algorithm>
#include <ostream>

namespace drift {
namespace {

constexpr std::size_t kMostLines = 20;  // a terminal cannot draw over what it has scrolled away
constexpr std::int64_t kFading = 4;     // forwards

const char* code_of(std::int64_t age) {
  if (age < 0) return "\033[2m";  // masked: faint
  if (age == 0) return "\033[1;33m";
  return age <= kFading ? "\033[36m" : "";
}

/// Cuts a response into lines.
class LineCutter {
 public:
  LineCutter(const TerminalOptions& options, int columns) : options_(options), columns_(columns) {}

  void add(const DenoisingState::Position& position) {
    const bool masked = position.age < 0;
    std::string rest = masked ? (options_.unicode ? "·" : ".") : printable(position.text);
    std::ranges::replace(rest, '\t', ' ');
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      write(rest.substr(0, end), position.age);
      lines.emplace_back(), width_ = 0;
      rest.erase(0, end + 1);
    }
    write(rest, position.age);
    if (position.age == 0) latest = lines.size();
  }

  std::vector<std::string> lines = {""};
  std::size_t latest = 1;  ///< behind the last line with a new token

 private:
  void write(const std::string& text, std::int64_t age) {
    if (text.empty()) return;
    const std::string cut = truncate_to_width(text, columns_);
    const int width = display_width(cut);
    if (width_ + width > columns_) lines.emplace_back(), width_ = 0;
    const char* code = options_.color ? code_of(age) : "";
    lines.back() += *code == '\0' ? cut : code + cut + "\033[0m";
    width_ += width;
  }

  const TerminalOptions& options_;
  int columns_, width_ = 0;
};

}  // namespace

std::vector<std::string> denoising_lines(const DenoisingState& state, const TerminalOptions& options, int columns,
                                         double seconds) {
  LineCutter cutter(options, std::max(1, columns));
  std::int64_t written = 0;
  for (const auto& position : state.positions) {
    cutter.add(position);
    written += position.age >= 0 ? 1 : 0;
  }
  const std::size_t end = std::min(cutter.lines.size(), std::max(cutter.latest, kMostLines));
  const std::size_t begin = end - std::min(end, kMostLines);
  std::vector<std::string> lines(cutter.lines.begin() + static_cast<std::ptrdiff_t>(begin),
                                 cutter.lines.begin() + static_cast<std::ptrdiff_t>(end));
  std::string status = "forward " + std::to_string(state.forwards) + "  " + std::to_string(written) + "/" +
                       std::to_string(state.positions.size()) + " tokens";
  if (seconds > 0 && written > 0) status += "  " + describe_rate(static_cast<double>(written) / seconds, "token");
  lines.push_back(truncate_to_width(status, std::max(1, columns)));
  return lines;
}

DenoisingView::DenoisingView(std::ostream& stream, TerminalOptions options)
    : stream_(stream), options_(std::move(options)) {
  if (!options_.clock) options_.clock = [] { return kProgramTimer.seconds(); };
  begun_ = options_.clock();
}

void DenoisingView::show(const DenoisingState& state) {
  const int columns = options_.columns ? options_.columns() : 80;
  // A terminal wraps when the last column is filled.
  const auto lines = denoising_lines(state, options_, columns - 1, options_.clock() - begun_);
  if (lines_ > 0) stream_ << "\r\033[" << lines_ << "A\033[J";
  for (const std::string& line : lines) stream_ << line << "\n";
  stream_.flush();
  lines_ = lines.size();
}

}  // namespace drift
