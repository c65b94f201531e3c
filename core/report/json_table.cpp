#include <core/report/json_table.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::string& cell) {
  if (cell.empty()) return nullptr;
  Json value = Json::parse(cell, nullptr, /*allow_exceptions=*/false);
  return value.is_number() ? value : Json(cell);
}

}  // namespace

Json to_json(const TextTable& table) {
  Json rows = Json::array();
  for (const auto& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t column = 0; column < cells.size(); ++column)
      row[table.titles[column]] = table.is_number[column] ? number(cells[column]) : Json(cells[column]);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace drift
