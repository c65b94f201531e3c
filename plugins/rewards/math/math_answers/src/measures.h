#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace math_answers {

/// The unit that one value carries: the units that are multiplied, each with its exponent. Words without a measure
/// (students, ways) say nothing.
class Measure {
 public:
  /// One word, or the sign of a currency: centimeters, square, per, dollar.
  void name(std::string_view word);
  /// All words, exponents and slashes of `text`, for example "miles per hour", "m/s^2".
  void read(std::string_view text);
  void raise(int exponent);
  void divide() { sign_ = -1; }

  /// What it is the unit of, as written: the number before it.
  void measures(std::string_view value) { value_ = value; }
  std::string_view value() const { return value_; }

  bool empty() const { return factors_.empty(); }
  /// Whether both are the same unit; "units", "square units" are of any kind.
  bool like(const Measure& other) const;

 private:
  using Factors = std::vector<std::pair<std::string_view, int>>;
  Factors sorted() const;

  Factors factors_;
  std::string_view value_;
  int power_ = 1;  // of the unit to come: 2 behind "square"
  int sign_ = 1;
};

/// Whether the units of two answers fit together: an answer without any fits all; otherwise those of one are among
/// those of the other.
bool fit(const std::vector<Measure>& a, const std::vector<Measure>& b);

}  // namespace math_answers
