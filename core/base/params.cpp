#include <drift/params.h>

#include <drift/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace drift {
namespace {

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return "nan";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) joined.append(joined.empty() ? "" : separator).append(part);
  return joined;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          static const char* digits = "0123456789ABCDEF";
          out += "\\u00";
          out += digits[(c >> 4) & 15];
          out += digits[c & 15];
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

}  // namespace

std::string ParamRange::describe() const {
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

std::string ParamRange::violation(const ParamValue& value) const {
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (choices.empty() || std::find(choices.begin(), choices.end(), *text) != choices.end()) return {};
    return "must be one of " + join(choices, ", ");
  }
  double checked = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    checked = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    checked = *real;
  } else {
    return {};
  }
  if (std::isnan(checked)) return "must be a number, not nan";
  if (std::isinf(checked)) return allow_infinite && checked > 0 ? "" : "must be finite";
  const bool low = minimum_excluded ? checked > minimum : checked >= minimum;
  const bool high = maximum_excluded ? checked < maximum : checked <= maximum;
  if (low && high) return {};
  const std::string allowed = describe();
  return (allowed[0] == '[' || allowed[0] == '(' ? "must be in " : "must be ") + allowed;
}

std::string type_name(const ParamValue& value) {
  static const char* names[] = {"true / false", "integer", "number", "text", "list of texts"};
  return names[value.index()];
}

std::string to_toml(const ParamValue& value) {
  struct Writer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const {
      std::string text = number(v);
      // TOML tells floats from integers by the point or the exponent; an exponent wants a digit before it.
      if (text.find_first_of(".einf") == std::string::npos) text += ".0";
      return text;
    }
    std::string operator()(const std::string& v) const { return in_quotes(v); }
    std::string operator()(const std::vector<std::string>& v) const {
      std::vector<std::string> parts;
      for (const std::string& item : v) parts.push_back(in_quotes(item));
      return "[" + join(parts, ", ") + "]";
    }
  };
  return std::visit(Writer{}, value);
}

Params::Params(const ParamSpecs& specs, const std::map<std::string, ParamValue>& values) {
  for (const ParamSpec& spec : specs) values_[spec.name] = spec.default_value;
  for (const auto& [name, value] : values) {
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&wanted = name](const ParamSpec& s) { return s.name == wanted; });
    if (spec == specs.end()) throw Error("unknown parameter `" + name + "`");
    ParamValue typed = value;
    if (const auto* integer = std::get_if<std::int64_t>(&value);
        integer && std::holds_alternative<double>(spec->default_value)) {
      typed = static_cast<double>(*integer);
    }
    if (typed.index() != spec->default_value.index()) {
      throw Error("parameter `" + name + "` must be " + type_name(spec->default_value) + ", not " + type_name(value));
    }
    if (const std::string wrong = spec->range.violation(typed); !wrong.empty()) {
      throw Error("parameter `" + name + "` " + wrong + ", not " + to_toml(typed));
    }
    values_[name] = typed;
  }
}

const ParamValue& Params::at(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    throw Error("the component reads parameter `" + std::string(name) + "`, which it does not declare",
                "add it to the parameters where the plugin registers the component");
  }
  return found->second;
}

void Params::wrong_type(std::string_view name, const ParamValue& value) {
  throw Error("the component reads parameter `" + std::string(name) + "` as another type than it declares (" +
              type_name(value) + ")");
}

}  // namespace drift
