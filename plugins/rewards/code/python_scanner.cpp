#include "python_scanner.h"

#include <string>

namespace drift::code {
namespace {

bool has_three(std::string_view text, std::size_t at, char quote) {
  return text.substr(at).starts_with(std::string(3, quote));
}

}  // namespace

PythonScanner::Part PythonScanner::next(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (skipped_ > 0) {
    --skipped_;
    return Part::kText;
  }
  if (comment_) {
    comment_ = c != '\n';
    return comment_ ? Part::kComment : Part::kCode;
  }
  if (quote_ != 0) return next_in_text(text, at);
  if (c == '#') comment_ = true;
  if (c != '"' && c != '\'') return comment_ ? Part::kComment : Part::kCode;
  quote_ = c;
  long_ = has_three(text, at, c);
  if (long_) skipped_ = 2;
  return Part::kText;
}

PythonScanner::Part PythonScanner::next_in_text(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '\\') {
    skipped_ = 1;
  } else if (long_) {
    if (!has_three(text, at, quote_)) return Part::kText;
    quote_ = 0;
    skipped_ = 2;
  } else if (c == quote_) {
    quote_ = 0;
  } else if (c == '\n') {
    quote_ = 0;  // a mistake, which ends with its line
    return Part::kCode;
  }
  return Part::kText;
}

}  // namespace drift::code
