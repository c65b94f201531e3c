#include <core/config/toml_layer.h>

#include <core/base/limits.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace drift {

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

namespace {

/// Finds points within keys and brackets of values that lead deeper than TOML++'s stack. A value in brackets is as deep
/// as its key, and what is in it deeper still.
class DepthCheck {
 public:
  explicit DepthCheck(std::string_view text) : text_(text) {}

  /// Where the text is too deep.
  std::optional<toml::source_position> find() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_text(c);
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c == '\n') {
        ++line_, points_ = 0;
      } else if (c == '.') {
        ++points_;
      } else if (c == '[' || c == '{') {
        outer_.push_back(depth() + 1);
        points_ = 0, value_points_ = 0;
      } else if (c == ']' || c == '}') {
        if (!outer_.empty()) outer_.pop_back();
        points_ = 0;
      } else if (c == '=') {
        value_points_ = points_;
        points_ = 0;
      } else if (c == ',') {
        points_ = 0, value_points_ = 0;
      }
      if (depth() > kDeepestNesting) return toml::source_position{line_, 1};
    }
    return std::nullopt;
  }

 private:
  int depth() const { return (outer_.empty() ? 0 : outer_.back()) + std::max(points_, value_points_); }

  /// From the opening quote to the closing one, or to the end of what cannot be a text.
  void skip_text(char quote) {
    const std::string three(3, quote);
    const bool lines = text_.substr(at_, 3) == three;
    for (at_ += lines ? 3 : 1; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        if (!lines) return;
      }
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
      } else if (lines ? text_.substr(at_, 3) == three : text_[at_] == quote) {
        // The last three of up to five quotes end a text of several lines.
        if (lines) at_ = std::min({text_.find_first_not_of(quote, at_), text_.size(), at_ + 5}) - 1;
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  int points_ = 0;          ///< of the key at hand
  int value_points_ = 0;    ///< of the key whose value is at hand
  std::vector<int> outer_;  ///< depth within each bracket that is open
};

}  // namespace

toml::table parse_toml(std::string_view text, std::string_view name) {
  if (const auto place = DepthCheck(text).find())
    throw toml::parse_error(
        ("nested: keys and values go deeper than " + std::to_string(kDeepestNesting) + " levels").c_str(), *place);
  return toml::parse(text, name);
}

/// TOML++ says "Error while parsing array: encountered end-of-file"; what went wrong is the part after the colon.
std::string toml_syntax_message(const toml::parse_error& error) {
  const std::string description(error.description());
  const auto colon = description.find(": ");
  return "not valid TOML: " + (colon == std::string::npos ? description : description.substr(colon + 2));
}

std::string toml_key(std::string_view key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-';
  });
  return bare ? std::string(key) : to_toml(Parameter::Value(std::string(key)));
}

TextSpan toml_span(const toml::source_region& region) {
  TextSpan span{region.begin.line, region.begin.column, 1};
  if (region.end.line == region.begin.line && region.end.column > region.begin.column) {
    span.length = region.end.column - region.begin.column;
  }
  return span;
}

namespace {

/// What was written where no parameter can be, for messages.
std::string toml_kind(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::date: return "a date";
    case toml::node_type::time: return "a time";
    case toml::node_type::date_time: return "a date and time";
    case toml::node_type::array: return "a list of different things";
    default: return "";
  }
}

template <class T>
std::vector<T> items_of(const toml::array& array) {
  std::vector<T> items;
  for (const toml::node& item : array) items.push_back(*item.value<T>());
  return items;
}

/// A list of texts, of integers or of numbers; of other or different things: nothing.
std::optional<Parameter::Value> list_value(const toml::array& array) {
  const auto all = [&](const auto& fits) { return std::all_of(array.begin(), array.end(), fits); };
  if (all([](const toml::node& item) { return item.is_string(); })) return items_of<std::string>(array);
  if (all([](const toml::node& item) { return item.is_integer(); })) return items_of<std::int64_t>(array);
  if (all([](const toml::node& item) { return item.is_number(); })) return items_of<double>(array);
  return std::nullopt;
}

}  // namespace

std::optional<Parameter::Value> toml_value(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return Parameter::Value(value->get());
  if (const auto* value = node.as_integer()) return Parameter::Value(std::int64_t{value->get()});
  if (const auto* value = node.as_floating_point()) return Parameter::Value(value->get());
  if (const auto* value = node.as_string()) return Parameter::Value(value->get());
  if (const auto* array = node.as_array()) return list_value(*array);
  return std::nullopt;
}

ConfigLeaf toml_leaf(const toml::node& node, Origin origin, const std::filesystem::path& folder) {
  return {toml_value(node), toml_kind(node), std::move(origin), folder};
}

Origin toml_origin(const std::filesystem::path& file, const toml::key& key, const toml::node& node) {
  return {Origin::Kind::kFile, file.string(), toml_span(key.source()), toml_span(node.source())};
}

namespace {

void flatten(const toml::table& table, const std::string& prefix, const OriginOf& origin_of,
             const std::filesystem::path& folder, ConfigLayer& layer) {
  for (auto&& [key, node] : table) {
    const std::string path = prefix + toml_key(key.str());
    if (const toml::table* inner = node.as_table()) {
      layer.tables[path] = origin_of(key, node);
      flatten(*inner, path + ".", origin_of, folder, layer);
    } else {
      layer.leaves[path] = toml_leaf(node, origin_of(key, node), folder);
    }
  }
}

}  // namespace

ConfigLayer toml_layer(const toml::table& table, const OriginOf& origin_of, const std::filesystem::path& folder) {
  ConfigLayer layer;
  flatten(table, "", origin_of, folder, layer);
  return layer;
}

ConfigLayer toml_layer(const toml::table& table, const std::filesystem::path& file) {
  return toml_layer(
      table, [&](const toml::key& key, const toml::node& node) { return toml_origin(file, key, node); },
      std::filesystem::absolute(file).parent_path());
}

}  // namespace drift
