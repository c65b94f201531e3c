#include "measures.h"

#include "token.h"
#include "units.h"

#include <algorithm>
#include <cstdint>

namespace math_answers {
namespace {

constexpr std::string_view kAnyUnit = "unit";
constexpr std::int64_t kLargestPower = 1000;  // greater ones are not told apart

bool among(const std::vector<Measure>& some, const std::vector<Measure>& all) {
  return std::ranges::all_of(some, [&](const Measure& one) {
    return std::ranges::any_of(all, [&](const Measure& other) { return one.like(other); });
  });
}

}  // namespace

void Measure::name(std::string_view word) {
  const std::string_view unit = measure_of(word);
  if (unit == "square" || unit == "cubic") {
    power_ = unit == "square" ? 2 : 3;
  } else if (unit == "squared" || unit == "cubed") {
    raise(unit == "squared" ? 2 : 3);
  } else if (unit == "per" || (!factors_.empty() && (word == "a" || word == "an"))) {
    divide();
  } else if (!factors_.empty() && word == "in") {
    return;  // "days in total"
  } else if (const auto slash = unit.find('/'); slash != std::string_view::npos) {
    name(unit.substr(0, slash));
    divide();
    name(unit.substr(slash + 1));
  } else if (!unit.empty()) {
    const bool scale = unit == "celsius" || unit == "fahrenheit";
    if (scale && !factors_.empty() && factors_.back().first == "degree") factors_.pop_back();
    factors_.emplace_back(unit, sign_ * power_);
    power_ = 1;
  }
}

void Measure::raise(int exponent) {
  if (factors_.empty()) return;
  const std::int64_t power = std::int64_t{factors_.back().second} * exponent;
  factors_.back().second = static_cast<int>(std::clamp<std::int64_t>(power, -kLargestPower, kLargestPower));
}

void Measure::read(std::string_view text) {
  constexpr std::string_view kSquare = "²";
  constexpr std::string_view kCube = "³";
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const auto letters = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_letter) - rest.begin());
    if (letters > 0) {
      name(rest.substr(0, letters));
    } else if (rest.front() == '/') {
      divide();
    } else if (is_digit(rest.front())) {
      raise(i > 0 && text[i - 1] == '-' ? '0' - rest.front() : rest.front() - '0');
    } else if (rest.starts_with(kSquare) || rest.starts_with(kCube)) {
      raise(rest.starts_with(kSquare) ? 2 : 3);
    }
    i += std::max<std::size_t>(letters, 1);
  }
}

Measure::Factors Measure::sorted() const {
  Factors all = factors_;
  std::ranges::sort(all);
  return all;
}

bool Measure::like(const Measure& other) const {
  const auto any_power = [](const Measure& one) {
    return one.factors_.size() == 1 && one.factors_[0].first == kAnyUnit ? one.factors_[0].second : 0;
  };
  const int here = any_power(*this);
  const int there = any_power(other);
  if (here == 1 || there == 1) return true;
  if (here != 0 || there != 0) {
    return factors_.size() == 1 && other.factors_.size() == 1 && factors_[0].second == other.factors_[0].second;
  }
  return sorted() == other.sorted();
}

bool fit(const std::vector<Measure>& a, const std::vector<Measure>& b) {
  if (!(a.size() < b.size() ? among(a, b) : among(b, a))) return false;
  // 3 m, 4 cm are not 3 cm, 4 m.
  return std::ranges::all_of(a, [&](const Measure& one) {
    const auto same = [&](const Measure& other) { return one.value() == other.value(); };
    return one.value().empty() || std::ranges::none_of(b, same) ||
           std::ranges::any_of(b, [&](const Measure& other) { return same(other) && one.like(other); });
  });
}

}  // namespace math_answers
