#include <core/report/parameter_table.h>

#include <cstddef>

namespace drift {

std::string declared_type(const Parameter& spec) {
  if (!spec.is_path) return type_name(spec.default_value);
  return std::holds_alternative<std::string>(spec.default_value) ? "path" : "list of paths";
}

TextTable parameter_table(const std::vector<Parameter>& specs, const std::string& what) {
  TextTable table{{what, "type", "default", "range", "meaning"}};
  for (const Parameter& spec : specs) {
    table.rows.push_back(
        {spec.name, declared_type(spec), to_toml(spec.default_value), spec.allowed.describe(), spec.doc});
  }
  return table;
}

std::string parameter_markdown(const std::vector<Parameter>& specs, const std::string& what) {
  TextTable table = parameter_table(specs, what);
  for (auto& cells : table.rows) {
    for (const std::size_t code : {0, 2, 3}) {
      if (!cells[code].empty()) cells[code] = "`" + cells[code] + "`";
    }
    cells.back() = markdown_text(cells.back());
  }
  return to_markdown(table);
}

std::string markdown_text(std::string text) {
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

}  // namespace drift
