#include "answer_limits.h"
#include "lexer.h"
#include "token.h"

#include <algorithm>

namespace math_answers {
namespace {

class NumberReader {
 public:
  NumberReader(std::string_view text, std::size_t at, bool in_brackets)
      : text_(text), at_(at), in_brackets_(in_brackets) {}

  std::size_t read(char* out, std::size_t room) {
    out_ = out;
    room_ = room;
    read_groups();
    read_fraction();
    read_exponent();
    return size_;
  }

  // Where what was read ends.
  std::size_t end() const { return at_; }

 private:
  enum class Separator { kNone, kComma, kSafeComma, kSpace };

  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::size_t digits_from(std::size_t i) const {
    std::size_t count = 0;
    while (is_digit(at(i + count))) ++count;
    return count;
  }

  void put(std::size_t begin, std::size_t count) {
    if (size_ + count > room_) throw Unreadable{"too many digits"};
    for (std::size_t i = 0; i < count; ++i) out_[size_++] = text_[begin + i];
  }

  // Behind a \! and the spaces around it; `i` itself where there is none.
  std::size_t skip_thin(std::size_t i) const {
    bool thin = false;
    std::size_t next = i;
    for (;;) {
      if (at(next) == '\\' && at(next + 1) == '!') {
        thin = true;
        next += 2;
      } else if (at(next) == ' ') {
        ++next;
      } else {
        return thin ? next : i;
      }
    }
  }

  Separator separator_at(std::size_t i, std::size_t& next) const {
    const std::string_view rest = text_.substr(i < text_.size() ? i : text_.size());
    if (rest.starts_with("{,}")) {
      next = i + 3;
      return Separator::kSafeComma;
    }
    if (rest.starts_with(",")) {
      next = skip_thin(i + 1);
      return next == i + 1 ? Separator::kComma : Separator::kSafeComma;
    }
    if (rest.starts_with("\\,") || rest.starts_with("\\ ") || rest.starts_with("\\;")) {
      next = i + 2;
      return Separator::kSpace;
    }
    if (rest.starts_with(" ") || rest.starts_with("~")) {
      next = i + 1;
      return Separator::kSpace;
    }
    return Separator::kNone;
  }

  // Whether the three digits at `i` are above a larger number of as many digits or more: those of 5 121/144, not a
  // group.
  bool is_numerator(std::size_t i) const {
    if (at(i) == '0' || at(i + 3) != '/') return false;
    const std::size_t below = digits_from(i + 4);
    return below > 3 || (below == 3 && text_.substr(i, 3) < text_.substr(i + 4, 3));
  }

  // One separator and three digits; the separators of a number are all of one kind.
  bool read_group(Separator& kind) {
    std::size_t next = 0;
    const Separator found = separator_at(at_, next);
    if (found == Separator::kNone || (kind != Separator::kNone && found != kind) || digits_from(next) != 3)
      return false;
    if (found == Separator::kSpace && is_numerator(next)) return false;
    if (found == Separator::kComma && in_brackets_ && at(next) != '0') return false;
    kind = found;
    put(next, 3);
    at_ = next + 3;
    return true;
  }

  // 1,000,2 is a list of three, not 1000 and 2.
  bool groups_end_cleanly(Separator kind) const {
    std::size_t next = 0;
    return kind == Separator::kSafeComma || separator_at(at_, next) != kind || !is_digit(at(next));
  }

  void read_groups() {
    const std::size_t begin = at_;
    const std::size_t leading = digits_from(at_);
    put(at_, leading);
    at_ += leading;
    if (leading < 1 || leading > 3) return;
    Separator kind = Separator::kNone;
    while (read_group(kind)) continue;
    if (kind != Separator::kNone && !groups_end_cleanly(kind)) {
      size_ = leading;
      at_ = begin + leading;
    }
  }

  void read_fraction() {
    if (at(at_) != '.') return;
    std::size_t end = 0;
    if (!is_digit(at(at_ + 1)) && repeating_at(at_ + 1, end).empty()) return;
    put(at_, 1);
    ++at_;
    for (;;) {
      const std::size_t count = digits_from(at_);
      put(at_, count);
      at_ += count;
      const std::string_view rest = text_.substr(at_);
      if (!(rest.starts_with("\\!") || rest.starts_with("\\,")) || !is_digit(at(at_ + 2))) break;
      at_ += 2;
    }
    read_repeating();
  }

  // The digits below an accent at `i`, which ends at `end`: \overline{16}, \bar6, \dot{3}; empty if there is none.
  std::string_view accented(std::size_t i, std::string_view accent, std::size_t& end) const {
    if (text_.substr(std::min(i, text_.size()), accent.size()) != accent) return {};
    i += accent.size();
    while (at(i) == ' ') ++i;
    const bool braced = at(i) == '{';
    i += braced;
    const std::size_t count = braced ? digits_from(i) : std::min<std::size_t>(digits_from(i), 1);
    if (braced && at(i + count) != '}') return {};
    end = i + count + braced;
    return text_.substr(std::min(i, text_.size()), count);
  }

  // Repeating digits at `i`, up to `end`: below a line, or from one dot to another, which stand in what is returned.
  std::string_view repeating_at(std::size_t i, std::size_t& end) const {
    for (const std::string_view line : {"\\overline", "\\bar"}) {
      if (const auto digits = accented(i, line, end); !digits.empty()) return digits;
    }
    const std::string_view first = accented(i, "\\dot", end);
    if (first.empty()) return {};
    std::size_t last = end + digits_from(end);
    if (!accented(last, "\\dot", last).empty()) end = last;
    return text_.substr(i, end - i);
  }

  void read_repeating() {
    std::size_t end = at_;
    const std::string_view repeating = repeating_at(at_, end);
    if (repeating.empty()) return;
    if (size_ + repeating.size() + 2 > room_) throw Unreadable{"too many digits"};
    out_[size_++] = '(';
    for (const char c : repeating) {
      if (is_digit(c)) out_[size_++] = c;
    }
    out_[size_++] = ')';
    at_ = end;
  }

  // 1.5E-4, 1e6: an e is Euler's number unless digits follow it at once.
  void read_exponent() {
    if (to_lower(at(at_)) != 'e') return;
    const std::size_t sign = at(at_ + 1) == '+' || at(at_ + 1) == '-' ? 1 : 0;
    const std::size_t count = digits_from(at_ + 1 + sign);
    if (count == 0 || is_letter(at(at_ + 1 + sign + count))) return;
    put(at_, 1 + sign + count);
    out_[size_ - 1 - sign - count] = 'E';
    at_ += 1 + sign + count;
  }

  std::string_view text_;
  std::size_t at_;
  bool in_brackets_;
  char* out_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace

std::size_t read_number(std::string_view text, std::size_t& at, bool in_brackets, char* out, std::size_t room) {
  NumberReader reader(text, at, in_brackets);
  const std::size_t size = reader.read(out, room);
  at = reader.end();
  return size;
}

}  // namespace math_answers
