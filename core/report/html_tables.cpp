#include <core/report/html_tables.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// First position of `wanted` outside quoted texts.
std::size_t find_unquoted(std::string_view line, char wanted) {
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (quote == '"' && line[at] == '\\') {
      ++at;
    } else if (quote != 0) {
      if (line[at] == quote) quote = 0;
    } else if (line[at] == wanted) {
      return at;
    } else if (line[at] == '"' || line[at] == '\'') {
      quote = line[at];
    }
  }
  return std::string_view::npos;
}

std::string setting_row(std::string_view line) {
  const std::size_t comment = find_unquoted(line, '#');
  const std::string_view setting = trimmed(line.substr(0, comment));
  const std::string_view origin =
      comment == std::string_view::npos ? std::string_view() : trimmed(line.substr(comment + 1));
  const std::size_t equals = find_unquoted(setting, '=');
  if (equals == std::string_view::npos) return {};  // a line with only a comment
  return std::string(origin == "default" ? "<tr class=\"default\">" : "<tr>") + "<th>" +
         escape_html(trimmed(setting.substr(0, equals))) + "</th><td><code>" +
         escape_html(trimmed(setting.substr(equals + 1))) + "</code></td><td>" + escape_html(origin) + "</td></tr>";
}

std::string section_table(const std::string& title, const std::string& rows) {
  if (rows.empty()) return {};
  return "<section class=\"settings\"><h3>" + (title.empty() ? std::string("at the top") : escape_html(title)) +
         "</h3><table>" + rows + "</table></section>";
}

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

std::string html_settings(std::string_view config_toml) {
  std::string html, title, rows;
  while (!config_toml.empty()) {
    const std::size_t end = std::min(config_toml.find('\n'), config_toml.size());
    const std::string_view line = trimmed(config_toml.substr(0, end));
    config_toml.remove_prefix(std::min(end + 1, config_toml.size()));
    if (!line.empty() && line.front() == '[') {
      html += section_table(title, rows);
      rows.clear();
      title = trimmed(line.substr(0, find_unquoted(line, '#')));
      title = title.substr(1, title.size() > 2 ? title.size() - 2 : 0);
    } else {
      rows += setting_row(line);
    }
  }
  return html + section_table(title, rows);
}

std::string html_rows(const nlohmann::ordered_json& objects) {
  std::vector<std::string> columns;
  for (const Json& object : objects) {
    for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) {
      if (std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
    }
  }
  if (columns.empty()) return {};
  std::string html = "<div class=\"wide\"><table><tr>";
  for (const std::string& column : columns) html += "<th>" + escape_html(spoken_name(column)) + "</th>";
  html += "</tr>";
  for (const Json& object : objects) {
    html += "<tr>";
    for (const std::string& column : columns)
      html += "<td>" + escape_html(object.contains(column) ? scalar_text(object[column]) : "") + "</td>";
    html += "</tr>";
  }
  return html + "</table></div>";
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
