#include <core/text/split_pattern.h>
#include <drift/error.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace drift {
namespace {

// White_Space of the Unicode standard; PCRE2's own \s also has U+180E.
constexpr std::string_view kSpaces =
    "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string translate() {
    while (at_ < pattern_.size()) item();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::size_t length, const std::string& why) const {
    throw Error("the pattern `" + std::string(pattern_) + "` uses `" + std::string(pattern_.substr(at_, length)) +
                "` at character " + std::to_string(at_ + 1) + ", which is not supported: " + why);
  }
  bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }
  void copy(std::size_t length) {
    out_ += pattern_.substr(at_, length);
    at_ += length;
  }

  void item() {
    switch (peek()) {
      case '\\': return escape(/*in_class=*/false);
      case '[': return character_class();
      case '(': return group();
      case '{': return interval();
      case '}':
      case ']': refuse(1, "write a literal bracket with a backslash");
      case '^':
      case '$': refuse(1, "anchors mean different things to different libraries");
      default: return copy(1);
    }
  }

  void group() {
    if (peek(1) != '?') {
      if (peek(1) == '*') refuse(2, "verbs are not supported");
      return copy(1);
    }
    for (const std::string_view known : {"(?:", "(?i:", "(?=", "(?!", "(?>", "(?<=", "(?<!"}) {
      if (next_is(known)) return copy(known.size());
    }
    refuse(3, "supported groups are (…), (?:…), (?i:…), (?>…) and the four kinds of look-around");
  }

  // {n}, {n,}, {n,m}. Possessive and lazy intervals are read differently by the two libraries.
  void interval() {
    const std::size_t end = std::min(pattern_.find('}', at_), pattern_.size());
    const std::string_view inside = pattern_.substr(at_ + 1, end - at_ - 1);
    const bool counts = !inside.empty() && std::isdigit(static_cast<unsigned char>(inside[0])) != 0 &&
                        std::ranges::all_of(inside, [](unsigned char c) { return std::isdigit(c) != 0 || c == ','; }) &&
                        std::ranges::count(inside, ',') <= 1;
    if (end == pattern_.size() || !counts) refuse(1, "write {n}, {n,} or {n,m}, or a literal brace with a backslash");
    copy(end + 1 - at_);
    if (peek() == '+' || peek() == '?') refuse(1, "an interval cannot be followed by another repetition");
  }

  void character_class() {
    copy(1);
    if (peek() == '^') copy(1);
    if (peek() == ']') refuse(1, "an empty class matches nothing");
    while (at_ < pattern_.size() && peek() != ']') {
      if (peek() == '[') refuse(1, "classes inside classes are not supported");
      if (next_is("&&")) refuse(2, "intersections of classes are not supported");
      if (peek() == '\\') {
        escape(/*in_class=*/true);
      } else {
        copy(1);
      }
    }
    if (at_ == pattern_.size()) refuse(1, "the class is not closed");
    copy(1);
  }

  void escape(bool in_class) {
    const char kind = peek(1);
    if (std::isalnum(static_cast<unsigned char>(kind)) == 0) return copy(2);  // a literal character
    switch (kind) {
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e': return copy(2);
      case 'x': return hexadecimal();
      case 'u': return four_digits();
      case 'v': return replace(2, "\\x0b");
      case 'd': return replace(2, "\\p{Nd}");
      case 'D': return replace(2, "\\P{Nd}");
      case 's': return replace(2, in_class ? std::string(kSpaces) : "[" + std::string(kSpaces) + "]");
      case 'S':
        if (in_class) refuse(2, "write the class with \\s");
        return replace(2, "[^" + std::string(kSpaces) + "]");
      case 'p':
      case 'P': return property();
      default: refuse(2, "this escape is not supported");
    }
  }

  void replace(std::size_t length, const std::string& text) {
    out_ += text;
    at_ += length;
  }

  void code_point(std::size_t begin, std::size_t digits, std::size_t length) {
    const std::string_view number = pattern_.substr(at_ + begin, digits);
    const bool good = !number.empty() && number.size() == digits && digits <= 8 &&
                      std::ranges::all_of(number, [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (!good) refuse(length, "a code point is written \\xHH, \\x{H…} or \\uHHHH");
    replace(length, "\\x{" + std::string(number) + "}");
  }
  void hexadecimal() {
    if (peek(2) != '{') return code_point(2, 2, 4);
    const std::size_t end = std::min(pattern_.find('}', at_), pattern_.size());
    code_point(3, end - std::min(end, at_ + 3), end + 1 - at_);
  }
  void four_digits() { code_point(2, 4, 6); }

  // General categories mean the same everywhere. Of a script, PCRE2 by default also takes the characters that are
  // shared with others.
  void property() {
    const std::size_t end = pattern_.find('}', at_);
    if (peek(2) != '{' || end == std::string_view::npos) refuse(3, "a property is written \\p{Name}");
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    if (name.empty() || !std::ranges::all_of(name, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; })) {
      refuse(end + 1 - at_, "a property is a general category or a script");
    }
    const bool category = name.size() <= 2;
    const bool complement = negated != (peek(1) == 'P');
    replace(end + 1 - at_,
            std::string(complement ? "\\P{" : "\\p{") + (category ? "" : "sc:") + std::string(name) + "}");
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string translate_pattern(std::string_view pattern) { return Translator(pattern).translate(); }

}  // namespace drift
