#include <core/report/terminal.h>

#include <core/base/phase_timer.h>
#include <core/report/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>

namespace drift {
namespace {

constexpr double kSecondsBetweenRedraws = 0.1;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const std::string value = environment(name); !value.empty()) {
      return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
  }
  return false;
}

}  // namespace

TerminalOptions detect_terminal(int file_descriptor) {
  TerminalOptions options;
  options.unicode = locale_is_utf8();
  options.is_terminal = isatty(file_descriptor) == 1 && environment("TERM") != "dumb" && environment("CI").empty();
  if (!options.is_terminal) return options;
  options.color = environment("NO_COLOR").empty();
  options.columns = [file_descriptor] {
    winsize size{};
    return ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? static_cast<int>(size.ws_col) : 80;
  };
  return options;
}

Terminal::Terminal(std::ostream& stream, TerminalOptions options) : stream_(stream), options_(std::move(options)) {
  if (!options_.clock) options_.clock = [] { return kProgramTimer.seconds(); };
}

Terminal::~Terminal() { show_live({}, true); }

void Terminal::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  erase_live();
  stream_ << text << '\n';
  draw_live();
  stream_.flush();
}

void Terminal::print_warning(std::string_view text) {
  print(styled("warning:", Style::kWarning).append(" ").append(text));
}

void Terminal::show_live(std::string_view text, bool at_once) {
  if (!options_.is_terminal) return;
  const std::lock_guard lock(mutex_);
  live_ = text;
  if (drawn_ && !at_once && now() - drawn_at_ < kSecondsBetweenRedraws) return;
  erase_live();
  draw_live();
  stream_.flush();
}

void Terminal::draw_live() {
  if (live_.empty()) return;
  // A terminal wraps when the last column is filled, and a wrapped line cannot be redrawn.
  stream_ << truncate_to_width(live_, columns() > 1 ? columns() - 1 : 79);
  drawn_ = true;
  drawn_at_ = now();
}

void Terminal::erase_live() {
  if (drawn_) stream_ << "\r\033[K";
  drawn_ = false;
}

std::string Terminal::styled(std::string_view text, Style style) const {
  return drift::styled(text, style, options_.color);
}

std::string styled(std::string_view text, Style style, bool color) {
  static constexpr const char* kCodes[] = {"", "\033[1m", "\033[2m", "\033[36m", "\033[33m"};
  const char* code = kCodes[static_cast<int>(style)];
  if (!color || *code == '\0' || text.empty()) return std::string(text);
  return code + std::string(text) + "\033[0m";
}

}  // namespace drift
