#include <drift/params.h>

#include <drift/error.h>

#include <unicode/utf8.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace drift {
namespace {

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return "nan";
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  // As people write it: 1e-4, not 1e-04; 1e6, not 1e+06.
  if (const auto sign = text.find('e') + 1; sign != 0) {
    if (text[sign + 1] == '0') text.erase(sign + 1, 1);
    if (text[sign] == '+') text.erase(sign, 1);
  }
  return text;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) joined.append(joined.empty() ? "" : separator).append(part);
  return joined;
}

/// What does something else to a terminal than being shown: control characters, also those from U+0080 on; marks of
/// direction; separators of lines.
bool acts_on_terminals(UChar32 c) {
  return (c >= 0 && c < 0x20) || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    UChar32 c = 0;
    U8_NEXT(text.data(), at, text.size(), c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (acts_on_terminals(c)) {
          char code[16];
          std::snprintf(code, sizeof code, "\\u%04X", static_cast<unsigned>(c));
          out += code;
        } else {
          out += text.substr(begin, at - begin);
        }
    }
  }
  return out + "\"";
}

}  // namespace

std::string AllowedValues::describe() const {
  if (!choices.empty()) return join(choices, " | ");
  const bool low = std::isfinite(minimum);
  const bool high = std::isfinite(maximum);
  const std::string infinite = allow_infinite ? " or inf" : "";
  if (low && high) {
    return (minimum_excluded ? "(" : "[") + number(minimum) + ", " + number(maximum) + (maximum_excluded ? ")" : "]") +
           infinite;
  }
  if (low) return (minimum_excluded ? "> " : ">= ") + number(minimum) + infinite;
  if (high) return (maximum_excluded ? "< " : "<= ") + number(maximum) + infinite;
  return "";
}

namespace {

std::string violation_of_text(const AllowedValues& allowed, const std::string& text) {
  const auto& choices = allowed.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
  return "must be one of " + join(choices, ", ");
}

std::string violation_of_number(const AllowedValues& allowed, double value) {
  if (std::isnan(value)) return "must be a number, not nan";
  if (std::isinf(value)) return allowed.allow_infinite && value > 0 ? "" : "must be finite";
  const bool low = allowed.minimum_excluded ? value > allowed.minimum : value >= allowed.minimum;
  const bool high = allowed.maximum_excluded ? value < allowed.maximum : value <= allowed.maximum;
  if (low && high) return {};
  const std::string text = allowed.describe();
  return (text[0] == '[' || text[0] == '(' ? "must be in " : "must be ") + text;
}

/// Each of the alternatives of Parameter::Value, as TOML writes it.
std::string toml(bool value) { return value ? "true" : "false"; }
std::string toml(std::int64_t value) { return std::to_string(value); }
std::string toml(double value) {
  std::string text = number(value);
  // TOML distinguishes floats from integers by the point or the exponent; an exponent needs a digit before it.
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}
std::string toml(const std::string& value) { return in_quotes(value); }
template <class T>
std::string toml(const std::vector<T>& values) {
  std::vector<std::string> parts;
  for (const T& value : values) parts.push_back(toml(value));
  return "[" + join(parts, ", ") + "]";
}

}  // namespace

std::optional<Parameter::Value> Parameter::as_declared(const Value& value) const {
  if (value.index() == default_value.index()) return value;
  const bool numbers = std::holds_alternative<std::vector<double>>(default_value);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (std::holds_alternative<double>(default_value)) return static_cast<double>(*integer);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    if (numbers) return std::vector<double>(integers->begin(), integers->end());
    if (integers->empty() && std::holds_alternative<std::vector<std::string>>(default_value))
      return std::vector<std::string>();
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value); texts && texts->empty()) {
    if (numbers) return std::vector<double>();
    if (std::holds_alternative<std::vector<std::int64_t>>(default_value)) return std::vector<std::int64_t>();
  }
  return std::nullopt;
}

std::string Parameter::violation(const Value& value) const {
  const auto first_of = [&](const auto& values, const auto& check) {
    for (const auto& one : values) {
      if (const std::string wrong = check(one); !wrong.empty()) return wrong;
    }
    return std::string();
  };
  const auto of_text = [&](const std::string& text) { return violation_of_text(allowed, text); };
  const auto of_integer = [&](std::int64_t one) { return violation_of_number(allowed, static_cast<double>(one)); };
  const auto of_number = [&](double one) { return violation_of_number(allowed, one); };
  if (const auto* one = std::get_if<std::string>(&value)) return of_text(*one);
  if (const auto* one = std::get_if<std::int64_t>(&value)) return of_integer(*one);
  if (const auto* one = std::get_if<double>(&value)) return of_number(*one);
  if (const auto* all = std::get_if<std::vector<std::string>>(&value)) return first_of(*all, of_text);
  if (const auto* all = std::get_if<std::vector<std::int64_t>>(&value)) return first_of(*all, of_integer);
  if (const auto* all = std::get_if<std::vector<double>>(&value)) return first_of(*all, of_number);
  return {};
}

std::string type_name(const Parameter::Value& value) {
  static const char* names[] = {"true / false",  "integer",          "number",         "text",
                                "list of texts", "list of integers", "list of numbers"};
  return names[value.index()];
}

std::string to_toml(const Parameter::Value& value) {
  return std::visit([](const auto& one) { return toml(one); }, value);
}

Parameters::Parameters(const std::vector<Parameter>& declared, const std::map<std::string, Parameter::Value>& values) {
  for (const Parameter& parameter : declared) values_[parameter.name] = parameter.default_value;
  for (const auto& [name, value] : values) {
    const auto parameter =
        std::find_if(declared.begin(), declared.end(), [&name](const Parameter& one) { return one.name == name; });
    if (parameter == declared.end()) throw Error("unknown parameter `" + name + "`");
    const auto accepted = parameter->as_declared(value);
    if (!accepted) {
      throw Error("parameter `" + name + "` must be " + type_name(parameter->default_value) + ", not " +
                  type_name(value));
    }
    const Parameter::Value& typed = *accepted;
    if (const std::string wrong = parameter->violation(typed); !wrong.empty()) {
      throw Error("parameter `" + name + "` " + wrong + ", not " + to_toml(typed));
    }
    values_[name] = typed;
  }
}

Parameters Parameters::collecting(std::vector<Parameter>& declared) {
  Parameters parameters;
  parameters.collected_ = &declared;
  return parameters;
}

void Parameters::collect(Parameter parameter) {
  const auto same = [&](const Parameter& other) { return other.name == parameter.name; };
  if (std::any_of(collected_->begin(), collected_->end(), same)) {
    throw Error("the component declares parameter `" + parameter.name + "` twice");
  }
  collected_->push_back(std::move(parameter));
}

const Parameter::Value& Parameters::at(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    throw Error("the component reads parameter `" + std::string(name) + "`, which it does not declare",
                "add it to the parameters where the plugin registers the component");
  }
  return found->second;
}

void Parameters::wrong_type(std::string_view name, const Parameter::Value& value) {
  throw Error("the component reads parameter `" + std::string(name) + "` as another type than it declares (" +
              type_name(value) + ")");
}

}  // namespace drift
