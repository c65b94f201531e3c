#include "json_value.h"

#include <drift/error.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace drift::dataset {
namespace {

// Deeper than any data set's records; what works through a value level by level cannot run out of stack.
constexpr std::size_t kMostLevels = 64;

// A decimal number without its sign and without zeros at either end, then the power of ten of its last digit: what
// 0.050 and 5e-2 have in common.
std::string digits_of(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  std::int64_t power = 0;
  const std::size_t sign = e + 1 < number.size() && number[e + 1] == '+' ? 2 : 1;
  if (e < number.size()) std::from_chars(number.data() + e + sign, number.data() + number.size(), power);
  std::string digits;
  bool behind_point = false;
  for (const char c : number.substr(0, e)) {
    if (c == '.') behind_point = true;
    if (c < '0' || c > '9') continue;
    if (!digits.empty() || c != '0') digits += c;
    power -= behind_point;
  }
  const std::size_t size = digits.find_last_not_of('0') + 1;
  if (size == 0) return "0";
  power += static_cast<std::int64_t>(digits.size() - size);
  return digits.substr(0, size) + "e" + std::to_string(power);
}

// Whether a double is the number as it was written: its shortest digits, or all 17.
bool holds(double number, std::string_view written) {
  std::array<char, 32> text;
  const auto is_written = [&](std::to_chars_result end) {
    return digits_of({text.data(), end.ptr}) == digits_of(written);
  };
  char* const last = text.data() + text.size();
  return is_written(std::to_chars(text.data(), last, number, std::chars_format::scientific)) ||
         is_written(std::to_chars(text.data(), last, number, std::chars_format::scientific, 16));
}

/// nlohmann's own builder looks for the name of each member among all before it.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Json value() && { return std::move(value_); }
  const std::string& fault() const { return fault_; }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string& written) override {
    return holds(value, written) ? put(value) : put(written);
  }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t& value) override { return put(Json::binary(std::move(value))); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(std::string& name) override {
    open_.back().name = std::move(name);
    return true;
  }
  bool end_object() override {
    keep_last_of_equal_names(open_.back().value.get_ref<Json::object_t&>());
    return close();
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    // "… syntax error while parsing value - invalid literal; last read: …": what was read may be no text at all.
    fault_ = error.what();
    fault_.erase(std::min(fault_.find("; last read"), fault_.size()));
    fault_.erase(std::min(fault_.find(" parsing '"), fault_.size()));  // "number overflow parsing '999…'"
    for (const char* before : {"] ", " - "}) {
      if (const std::size_t at = fault_.find(before); at != std::string::npos)
        fault_.erase(0, at + std::string_view(before).size());
    }
    fault_ = "not valid JSON: " + fault_;
    return false;
  }

 private:
  struct Level {
    Json value;
    std::string name = {};  ///< of the member to come
  };
  using Members = std::vector<Json::object_t::value_type>;  // what an ordered object is

  bool open(Json value) {
    if (open_.size() == kMostLevels) {
      fault_ = "nested deeper than " + std::to_string(kMostLevels) + " levels";
      return false;
    }
    open_.push_back({std::move(value)});
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(value));
  }

  bool put(Json value) {
    if (open_.empty()) {
      value_ = std::move(value);
    } else if (Level& level = open_.back(); level.value.is_array()) {
      level.value.push_back(std::move(value));
    } else {
      static_cast<Members&>(level.value.get_ref<Json::object_t&>())
          .emplace_back(std::move(level.name), std::move(value));
    }
    return true;
  }

  static void keep_last_of_equal_names(Members& members) {
    std::unordered_map<std::string_view, std::size_t> places;
    std::size_t repeated = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto [first, is_new] = places.try_emplace(members[i].first, i);
      if (is_new) continue;
      members[first->second].second = std::move(members[i].second);
      ++repeated;
    }
    if (repeated == 0) return;
    Members kept;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (places.at(members[i].first) == i) kept.emplace_back(members[i].first, std::move(members[i].second));
    }
    members.swap(kept);
  }

  Json value_;
  std::vector<Level> open_;
  std::string fault_;
};

}  // namespace

Json parse_value(std::string_view text) {
  Builder builder;
  if (!Json::sax_parse(text, &builder)) throw Error(builder.fault());
  return std::move(builder).value();
}

}  // namespace drift::dataset
