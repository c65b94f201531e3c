#include <core/plugin/pure_parameters.h>

#include <core/plugin/host_call.h>

#include <string>
#include <utility>

namespace drift {
namespace {

/// A list of a declaration.
template <class Element>
std::vector<Element> copied_list(const Element* elements, std::size_t count) {
  if (elements == nullptr && count > 0) throw Error("a list of " + std::to_string(count) + " values is at NULL");
  return std::vector<Element>(elements, elements + count);
}

std::vector<std::string> copied_texts(const DriftText* texts, std::size_t count) {
  std::vector<std::string> copies;
  for (const DriftText text : copied_list(texts, count)) copies.emplace_back(view_of(text));
  return copies;
}

Parameter::Value copied_value(const std::string& name, const DriftValue& value) {
  switch (value.type) {
    case DRIFT_TRUTH: return value.truth != 0;
    case DRIFT_INTEGER: return value.integer;
    case DRIFT_NUMBER: return value.number;
    case DRIFT_STRING: return std::string(view_of(value.string));
    case DRIFT_STRINGS: return copied_texts(value.strings, value.count);
    case DRIFT_INTEGERS: return copied_list(value.integers, value.count);
    case DRIFT_NUMBERS: return copied_list(value.numbers, value.count);
  }
  throw Error("parameter `" + name + "` has the unknown type " + std::to_string(value.type),
              "default_value.type is DRIFT_TRUTH, DRIFT_INTEGER, … of drift/pure.h");
}

Parameter copied_parameter(const DriftParam& param) {
  const std::string name(view_of(param.name));
  Parameter spec(name, false, view_of(param.doc));
  spec.default_value = copied_value(name, param.default_value);
  const auto has = [&](std::uint32_t flag) { return (param.flags & flag) != 0; };
  if (has(DRIFT_HAS_MINIMUM)) spec.allowed.minimum = param.minimum;
  if (has(DRIFT_HAS_MAXIMUM)) spec.allowed.maximum = param.maximum;
  spec.allowed.minimum_excluded = has(DRIFT_MINIMUM_EXCLUDED);
  spec.allowed.maximum_excluded = has(DRIFT_MAXIMUM_EXCLUDED);
  spec.allowed.allow_infinite = has(DRIFT_ALLOW_INFINITE);
  spec.allowed.choices = copied_texts(param.choices, param.choice_count);
  spec.is_path = has(DRIFT_IS_PATH);
  return spec;
}

}  // namespace

std::vector<Parameter> declared_parameters(const DriftComponent& component) {
  std::vector<Parameter> specs;
  const auto* next = reinterpret_cast<const char*>(component.params);
  for (std::size_t i = 0; i < component.param_count; ++i, next += component.params->size)
    specs.push_back(copied_parameter(as_known(reinterpret_cast<const DriftParam*>(next), "DriftParam")));
  return specs;
}

PureValues::PureValues(const std::vector<Parameter>& specs, const Parameters& params) {
  for (const Parameter& spec : specs) values_.push_back(value_of(params.values().at(spec.name)));
}

DriftValue PureValues::value_of(const Parameter::Value& value) {
  DriftValue given{};
  // The alternatives of Parameter::Value are in the order of the types.
  given.type = static_cast<std::uint32_t>(value.index()) + DRIFT_TRUTH;
  if (const auto* truth = std::get_if<bool>(&value)) given.truth = *truth ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) given.integer = *integer;
  if (const auto* number = std::get_if<double>(&value)) given.number = *number;
  if (const auto* string = std::get_if<std::string>(&value)) given.string = text_of(*string);
  if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    auto& texts = texts_.emplace_back();
    for (const std::string& one : *strings) texts.push_back(text_of(one));
    given.strings = texts.data();
    given.count = texts.size();
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    given.integers = integers->data();
    given.count = integers->size();
  }
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    given.numbers = numbers->data();
    given.count = numbers->size();
  }
  return given;
}

}  // namespace drift
