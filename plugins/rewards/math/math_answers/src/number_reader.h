#pragma once

#include <cstddef>
#include <string_view>

namespace math_answers {

/// Reads a decimal number as people write it: 1,000  1{,}000  1,\!000  1\,000  1 000  .5  0.1\overline{6}  1.5E-4.
/// Groups count only if each has three digits and the first one to three; a plain comma within brackets separates
/// (unless zeros follow), as in (100,101).
class NumberReader {
 public:
  NumberReader(std::string_view text, std::size_t at, bool in_brackets)
      : text_(text), at_(at), in_brackets_(in_brackets) {}

  /// Write the digits, at most one point, repeating digits in round brackets, and an exponent after E to `out`.
  /// @return how many signs were written
  /// @throws Unreadable if there are more than `room`
  std::size_t read(char* out, std::size_t room);
  /// Where what was read ends.
  std::size_t end() const { return at_; }

 private:
  enum class Separator { kNone, kComma, kSafeComma, kSpace };

  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  std::size_t digits_from(std::size_t i) const;
  std::size_t skip_thin(std::size_t i) const;
  Separator separator_at(std::size_t i, std::size_t& next) const;
  void put(std::size_t begin, std::size_t count);
  bool is_numerator(std::size_t i) const;
  bool read_group(Separator& kind);
  bool groups_end_cleanly(Separator kind) const;
  void read_groups();
  void read_fraction();
  void read_repeating();
  void read_exponent();

  std::string_view text_;
  std::size_t at_;
  bool in_brackets_;
  char* out_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace math_answers
