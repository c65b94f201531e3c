#pragma once

// A parameter is declared once, next to the member that it sets:
//
//     explicit MyLoss(drift::Parameters& parameters)
//         : width_(parameters("width", 4.0, "curvature of the weight", drift::above(0))),
//           steps_(parameters("steps", 8, "draws for each response", drift::between(1, 64))),
//           weights_(parameters("weights", std::vector<double>{1, 0.5}, "of the terms", drift::at_least(0))),
//           norm_(parameters("norm", kNorms, Norm::kToken, "what a mean is taken over")),
//           table_(parameters(drift::path("table", "", "file of the weights"))) {}
// A component that cannot be created without files or memory (a model, a task) declares them at its registration
// instead, and reads them by name.

#include <drift/export.h>
#include <drift/reserved.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace drift {

/// Which values a parameter takes. For numbers, also those in a list: an interval; infinite values only with
/// `allow_infinite`. For texts, also those in a list: one of `choices`, or anything if `choices` is empty.
struct DRIFT_API AllowedValues {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_excluded = false;
  bool maximum_excluded = false;
  bool allow_infinite = false;
  std::vector<std::string> choices = {};
  Reserved<double, 2> reserved_numbers = {};

  /// For messages: "[0, 1]", ">= 1", "mean | loo", or empty.
  std::string describe() const;
};

inline AllowedValues at_least(double minimum) { return {.minimum = minimum}; }
inline AllowedValues above(double minimum) { return {.minimum = minimum, .minimum_excluded = true}; }
inline AllowedValues between(double minimum, double maximum) { return {.minimum = minimum, .maximum = maximum}; }
inline AllowedValues one_of(std::vector<std::string> choices) {
  AllowedValues range;
  range.choices = std::move(choices);
  return range;
}
inline AllowedValues or_infinite(AllowedValues range) {
  range.allow_infinite = true;
  return range;
}

/// The texts for the enumerators of E. Declared once and used twice, for the parameter and for its value:
///
///     constexpr drift::Choices<Schedule, 2> kSchedules{{{"dynamic", Schedule::kDynamic}, {"static",
///     Schedule::kStatic}}};
///     {"schedule", kSchedules, Schedule::kDynamic, "when a position is committed"}
///     schedule_ = params.get("schedule", kSchedules);
template <class E, std::size_t N>
using Choices = std::array<std::pair<const char*, E>, N>;

/// The only declaration of a parameter: the config checker, `drift plugin info` and the documentation use it.
struct DRIFT_API Parameter {
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>,
                             std::vector<std::int64_t>, std::vector<double>>;

  std::string name;
  Value default_value;  ///< the alternative that it holds is the parameter's type
  std::string doc;      ///< one line, without a full stop
  AllowedValues allowed;
  /// The text, or each text of a list, is a path: in a TOML file relative to the folder of that file, absolute in
  /// Parameters. It may go on with `:NAME`, for something in the file.
  bool is_path = false;
  Reserved<std::string, 2> reserved_texts = {};
  Reserved<std::int64_t, 2> reserved_numbers = {};

  Parameter(std::string_view name, bool value, std::string_view doc) : name(name), default_value(value), doc(doc) {}
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>, int> = 0>
  Parameter(std::string_view name, Integer value, std::string_view doc, AllowedValues allowed = {})
      : name(name), default_value(static_cast<std::int64_t>(value)), doc(doc), allowed(std::move(allowed)) {}
  Parameter(std::string_view name, double value, std::string_view doc, AllowedValues allowed = {})
      : name(name), default_value(value), doc(doc), allowed(std::move(allowed)) {}
  Parameter(std::string_view name, const char* value, std::string_view doc, AllowedValues allowed = {})
      : name(name), default_value(std::string(value)), doc(doc), allowed(std::move(allowed)) {}
  Parameter(std::string_view name, std::vector<std::string> value, std::string_view doc, AllowedValues allowed = {})
      : name(name), default_value(std::move(value)), doc(doc), allowed(std::move(allowed)) {}
  Parameter(std::string_view name, std::vector<std::int64_t> value, std::string_view doc, AllowedValues allowed = {})
      : name(name), default_value(std::move(value)), doc(doc), allowed(std::move(allowed)) {}
  Parameter(std::string_view name, std::vector<double> value, std::string_view doc, AllowedValues allowed = {})
      : name(name), default_value(std::move(value)), doc(doc), allowed(std::move(allowed)) {}
  template <class E, std::size_t N>
  Parameter(std::string_view name, const Choices<E, N>& choices, E value, std::string_view doc) : name(name), doc(doc) {
    for (const auto& [text, enumerator] : choices) {
      allowed.choices.emplace_back(text);
      if (enumerator == value) default_value = std::string(text);
    }
  }

  /// `value` as the declared type: an integer is accepted as a number, an empty list as a list of anything. Empty if it
  /// is of another type. Whether it is allowed is not checked.
  std::optional<Value> as_declared(const Value& value) const;

  /// Empty if `value`, which is of the declared type, is allowed; else what is, for example "must be in [0, 1]".
  std::string violation(const Value& value) const;

  Parameter as_path() && {
    is_path = true;
    return std::move(*this);
  }
};

/// A parameter that is the path of a file or folder, or a list of paths.
inline Parameter path(std::string_view name, const char* value, std::string_view doc) {
  return Parameter(name, value, doc).as_path();
}
inline Parameter paths(std::string_view name, std::string_view doc) {
  return Parameter(name, std::vector<std::string>{}, doc).as_path();
}

/// "true / false", "integer", "number", "text", "list of texts", "list of integers" or "list of numbers".
DRIFT_API std::string type_name(const Parameter::Value& value);
/// As TOML writes it: 0.9, "text", ["a", "b"], true, inf.
DRIFT_API std::string to_toml(const Parameter::Value& value);

/// The parameters of one component. Its constructor gets them as `Parameters&`, and declares and reads each with one
/// call. At registration a first object is created to collect the declarations; it gets the defaults and is destroyed
/// immediately. Later ones get the run's values. A component whose parameters are declared at its registration gets
/// them as `const Parameters&` and reads them by name.
class DRIFT_API Parameters {
 public:
  Parameters() = default;
  /// All defaults of `declared`, overridden by `values`.
  /// @throws Error naming the parameter if a value is not declared, of another type, or not allowed.
  explicit Parameters(const std::vector<Parameter>& declared,
                      const std::map<std::string, Parameter::Value>& values = {});
  /// Adds to `declared` what a constructor declares, and gives it the defaults.
  static Parameters collecting(std::vector<Parameter>& declared);

  /// @throws Error if the name was declared before (a mistake by the author).
  bool operator()(std::string_view name, bool value, std::string_view doc) {
    return take<bool>(Parameter(name, value, doc));
  }
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>, int> = 0>
  std::int64_t operator()(std::string_view name, Integer value, std::string_view doc, AllowedValues allowed = {}) {
    return take<std::int64_t>(Parameter(name, value, doc, std::move(allowed)));
  }
  double operator()(std::string_view name, double value, std::string_view doc, AllowedValues allowed = {}) {
    return take<double>(Parameter(name, value, doc, std::move(allowed)));
  }
  std::string operator()(std::string_view name, const char* value, std::string_view doc, AllowedValues allowed = {}) {
    return take<std::string>(Parameter(name, value, doc, std::move(allowed)));
  }
  template <class T>
  std::vector<T> operator()(std::string_view name, std::vector<T> value, std::string_view doc,
                            AllowedValues allowed = {}) {
    return take<std::vector<T>>(Parameter(name, std::move(value), doc, std::move(allowed)));
  }
  template <class E, std::size_t N>
  E operator()(std::string_view name, const Choices<E, N>& choices, E value, std::string_view doc) {
    take<std::string>(Parameter(name, choices, value, doc));
    return collected_ != nullptr ? value : get(name, choices);
  }
  /// A complete declaration: a path.
  std::string operator()(Parameter text) { return take<std::string>(std::move(text)); }

  /// T is one of Parameter::Value's alternatives.
  /// @throws Error if no parameter of this name and type was declared (a mistake by the plugin's author).
  template <class T>
  T get(std::string_view name) const {
    const Parameter::Value& value = at(name);
    if (const T* typed = std::get_if<T>(&value)) return *typed;
    wrong_type(name, value);
  }

  /// The enumerator that the parameter's text stands for.
  /// @throws Error as above, and if the parameter was declared with other choices.
  template <class E, std::size_t N>
  E get(std::string_view name, const Choices<E, N>& choices) const {
    const auto text = get<std::string>(name);
    for (const auto& [choice, enumerator] : choices) {
      if (text == choice) return enumerator;
    }
    wrong_type(name, at(name));
  }

  const std::map<std::string, Parameter::Value, std::less<>>& values() const { return values_; }

 private:
  template <class T>
  T take(Parameter parameter) {
    if (collected_ == nullptr) return get<T>(parameter.name);
    T value = std::get<T>(parameter.default_value);
    collect(std::move(parameter));
    return value;
  }
  void collect(Parameter parameter);
  const Parameter::Value& at(std::string_view name) const;
  [[noreturn]] static void wrong_type(std::string_view name, const Parameter::Value& value);

  std::map<std::string, Parameter::Value, std::less<>> values_;
  std::vector<Parameter>* collected_ = nullptr;
};

}  // namespace drift
