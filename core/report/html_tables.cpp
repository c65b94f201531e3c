#include <core/report/html_parts.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/text_table.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return format_adaptive(value.get<double>());
  if (value.is_array()) {
    std::string text;
    for (const Json& item : value) text += (text.empty() ? "" : ", ") + scalar_text(item);
    return text;
  }
  return value.is_null() ? "-" : json_text(value);
}

std::string fact(const std::string& key, const Json& value) {
  std::string text = scalar_text(value);
  if (key.ends_with("seconds") && value.is_number()) text = format_duration(value.get<double>());
  if (key == "peak_memory_mib" && value.is_number()) text = format_decimal(value.get<double>(), 0) + " MiB";
  const std::string name = key == "seconds"            ? "training"
                           : key == "total_seconds"    ? "time"
                           : key == "peak_memory_mib"  ? "peak memory"
                           : key.ends_with("_seconds") ? spoken_name(key.substr(0, key.size() - 8))
                                                       : spoken_name(key);
  const bool is_command = key == "command" || key == "commit";
  const std::string shown = is_command ? "<code>" + escape_html(text) + "</code>" : escape_html(text);
  return (key == "command" ? "<div class=\"whole\"><dt>" : "<div><dt>") + escape_html(name) + "</dt><dd>" + shown +
         "</dd></div>";
}

}  // namespace

std::string html_rows(const nlohmann::ordered_json& objects) {
  std::vector<std::string> columns;
  for (const Json& object : objects) {
    for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) {
      if (std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
    }
  }
  if (columns.empty()) return {};
  TextTable table{.is_number = std::vector<bool>(columns.size(), false)};
  for (const std::string& column : columns) table.titles.push_back(spoken_name(column));
  for (const Json& object : objects) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (const std::string& column : columns) row.push_back(object.contains(column) ? scalar_text(object[column]) : "");
  }
  return "<div class=\"wide\">" + to_html(table) + "</div>";
}

std::string html_facts(const nlohmann::ordered_json& summary) {
  std::string facts;
  for (const auto& [key, value] : summary.items()) {
    if (!value.is_object()) {
      facts += fact(key, value);
    } else if (key != "held_out" && key != "profile") {
      for (const auto& [inner_key, inner] : value.items()) facts += fact(key + " " + inner_key, inner);
    }
  }
  return facts.empty() ? "" : "<dl>" + facts + "</dl>";
}

}  // namespace drift
