#include <core/base/quote.h>
#include <core/report/progress.h>

#include <core/base/unknown.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

constexpr std::size_t kReportsAveraged = 20;
constexpr double kSecondsBetweenLines = 10;

}  // namespace

void RateEstimator::update(std::int64_t done, double now) {
  reports_.push_back({done, now});
  if (reports_.size() > kReportsAveraged + 1) reports_.pop_front();
}

double RateEstimator::rate() const {
  if (reports_.empty()) return kUnknown;
  const double seconds = reports_.back().at - reports_.front().at;
  const auto done = static_cast<double>(reports_.back().done - reports_.front().done);
  return seconds > 0 && done > 0 ? done / seconds : kUnknown;
}

double RateEstimator::seconds_left(std::int64_t total) const {
  if (reports_.empty()) return kUnknown;
  return static_cast<double>(std::max<std::int64_t>(0, total - reports_.back().done)) / rate();
}

std::string describe_rate(double rate, std::string_view singular) {
  if (!std::isfinite(rate)) return {};
  if (rate >= 1) return format_count(rate) + " " + std::string(singular) + "s/s";
  return format_seconds(1 / rate) + "/" + std::string(singular);
}

std::string progress_bar(const Terminal& terminal, std::int64_t done, std::int64_t total, int columns) {
  return progress_bar(terminal.unicode(), terminal.color(), done, total, columns);
}

std::string progress_bar(bool unicode, bool color, std::int64_t done, std::int64_t total, int columns) {
  const double share = total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0.0;
  const int filled = static_cast<int>(share * columns);
  std::string bar, rest;
  for (int column = 0; column < columns; ++column) {
    if (column < filled) {
      bar += unicode ? "━" : "#";
    } else {
      rest += unicode ? "─" : ".";
    }
  }
  return styled(bar, Style::kAccent, color) + styled(rest, Style::kFaint, color);
}

Progress::Progress(Terminal& terminal, std::string what, std::int64_t total, std::string singular, std::int64_t begun)
    : terminal_(terminal),
      what_(printable(what)),
      total_(total),
      singular_(std::move(singular)),
      printed_at_(terminal.now()) {
  rate_.update(begun, printed_at_);
  update(begun);
}

Progress::~Progress() { terminal_.show_live({}, true); }

void Progress::update(std::int64_t done) {
  const double now = terminal_.now();
  rate_.update(done, now);
  std::string figures = std::to_string(done) + "/" + std::to_string(total_);
  if (const std::string rate = describe_rate(rate_.rate(), singular_); !rate.empty()) figures += "  " + rate;
  if (done < total_) figures += "  " + format_duration(rate_.seconds_left(total_)) + " left";
  if (terminal_.is_terminal()) {
    terminal_.show_live(what_ + "  " + progress_bar(terminal_, done, total_, kWidestBar) + "  " + figures,
                        done == total_);
  } else if (now - printed_at_ >= kSecondsBetweenLines) {
    printed_at_ = now;
    terminal_.print(what_ + "  " + figures);
  }
}

}  // namespace drift
