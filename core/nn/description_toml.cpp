#include <core/nn/description_toml.h>

#include <drift/error.h>

#include <toml++/toml.h>

#include <algorithm>

namespace drift::nn {
namespace {

using Json = nlohmann::json;

/// What TOML has no word for.
const std::string kNull = "null";

Json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json made = Json::object();
    for (const auto& [key, value] : *table) made[std::string(key.str())] = json_of(value);
    return made;
  }
  if (const auto* array = node.as_array()) {
    Json made = Json::array();
    for (const auto& value : *array) made.push_back(json_of(value));
    return made;
  }
  if (const auto value = node.value_exact<bool>()) return *value;
  if (const auto value = node.value_exact<std::int64_t>()) return *value;
  if (const auto value = node.value_exact<double>()) return *value;
  if (const auto value = node.value_exact<std::string>()) return *value == kNull ? Json() : Json(*value);
  throw Error("dates and times have no meaning in a description");
}

}  // namespace

Json parse_description_toml(std::string_view text, const std::string& file) try {
  // What is nested deeper than TOML++'s stack takes a long line.
  constexpr std::size_t kLongestLine = 2000;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > kLongestLine) throw Error("a line has more than " + std::to_string(kLongestLine) + " characters");
    begin = end + 1;
  }
  return json_of(toml::parse(text, file));
} catch (const toml::parse_error& error) {
  throw Error(file + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
}

}  // namespace drift::nn
