#include <core/report/format.h>

#include <unicode/utf8.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace drift {
namespace {

constexpr const char* kDash = "-";

constexpr char kEscape = '\033';

// End of the piece at `at`: a complete style sequence (escape … 'm'), or one code point.
std::size_t next_piece(std::string_view text, std::size_t at) {
  if (text[at] == kEscape) {
    const std::size_t close = text.find('m', at);
    return close == std::string_view::npos ? at + 1 : close + 1;
  }
  std::size_t end = at + 1;
  while (end < text.size() && U8_IS_TRAIL(text[end])) ++end;
  return end;
}

}  // namespace

std::string print_text(const char* format, ...) {
  char buffer[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(buffer, sizeof buffer, format, values);
  va_end(values);
  return buffer;
}

std::string format_decimal(double value, int digits) {
  if (std::isnan(value)) return kDash;
  std::string text = print_text("%.*f", digits, value);
  // A rounded negative number must not read as "-0.000".
  if (text[0] == '-' && text.find_first_of("123456789if") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string format_adaptive(double value) {
  if (std::isnan(value)) return kDash;
  const double size = std::abs(value);
  if (size == 0 || (size >= 0.001 && size < 100)) return format_decimal(value, 3);
  if (size >= 100 && size < 100000) return format_decimal(value, size < 1000 ? 1 : 0);
  std::string text = print_text("%.1e", value);
  // As people write it: 2.1e-5, not 2.1e-05.
  if (const auto exponent = text.find('e'); exponent != text.npos && text[exponent + 2] == '0')
    text.erase(exponent + 2, 1);
  return text;
}

std::string format_exact(double value) {
  char buffer[32];
  return std::isnan(value) ? "" : std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

std::string format_percent(double fraction) { return format_decimal(100 * fraction, 1); }

std::string format_p(double p) { return p < 0.0001 ? "< 0.0001" : format_decimal(p, 4); }

std::string format_integer(long long value) {
  std::string digits = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string format_count(double value) {
  if (!std::isfinite(value)) return format_decimal(value, 0);
  if (std::abs(value) < 100) return format_decimal(value, std::abs(value) < 10 ? 2 : 1);
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(std::abs(value))) - 2));
  return format_integer(std::llround(value / unit) * static_cast<long long>(unit));
}

std::string format_parameters(long long count) {
  if (count >= 100'000'000) return print_text("%.2f B", static_cast<double>(count) / 1e9);
  if (count >= 10'000) return print_text("%.2f M", static_cast<double>(count) / 1e6);
  return format_integer(count);
}

std::string count_of(long long count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string format_seconds(double seconds) {
  if (std::isnan(seconds)) return kDash;
  const int digits = seconds < 0.0995 ? 3 : seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0;
  return format_decimal(seconds, digits) + " s";
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-:--";
  const long long whole = std::llround(seconds);
  const long long days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  if (days > 0) return print_text("%lld d %02lld:%02lld", days, hours, minutes);
  if (hours > 0) return print_text("%lld:%02lld:%02lld", hours, minutes, whole % 60);
  return print_text("%lld:%02lld", minutes, whole % 60);
}

std::string format_run_times(double total, double start, double training, double evaluation) {
  std::string parts;
  for (const auto& [name, seconds] :
       {std::pair{"start ", start}, {"training ", training}, {"evaluation ", evaluation}}) {
    if (!std::isnan(seconds)) parts += (parts.empty() ? "" : ", ") + (name + format_duration(seconds));
  }
  return std::isnan(total) ? parts : format_duration(total) + (parts.empty() ? "" : " (" + parts + ")");
}

std::string format_run_time(double seconds) {
  return seconds < 60 ? format_seconds(seconds) : format_duration(seconds);
}

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = next_piece(text, at);
    width += text[at] == kEscape ? 0 : 1;
    at = end;
  }
  return width;
}

std::string aligned(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string space(width - std::min(width, static_cast<std::size_t>(display_width(text))), ' ');
  return to_the_right ? space + text : text + space;
}

std::string truncate_to_width(std::string_view text, int columns) {
  std::string kept;
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = next_piece(text, at);
    // Styles are kept, even after the cut: the one that ends a colour is among them.
    if (text[at] == kEscape || ++width <= columns) kept += text.substr(at, end - at);
    at = end;
  }
  return kept;
}

}  // namespace drift
