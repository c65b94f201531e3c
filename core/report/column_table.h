#pragma once

#include <core/report/format.h>
#include <core/report/text_table.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace drift {

/// A table that is made column by column: a title, and what a row has to say under it, which is a member or a function
/// of the row. Texts stand as they are, numbers with all their digits.
template <class Row>
class ColumnTable {
 public:
  /// @param rows  must outlive this
  explicit ColumnTable(const std::vector<Row>& rows) : rows_(rows) { table_.rows.resize(rows.size()); }

  /// Aligned to the left.
  template <class Value>
  ColumnTable& text(const std::string& title, const Value& value) {
    return add(title, false, true, value);
  }
  /// Aligned to the right.
  template <class Value>
  ColumnTable& number(const std::string& title, const Value& value) {
    return add(title, true, true, value);
  }
  /// The same, left out where it is empty in every row.
  template <class Value>
  ColumnTable& known_number(const std::string& title, const Value& value) {
    return add(title, true, false, value);
  }

  const TextTable& table() const { return table_; }

 private:
  static std::string cell(const std::string& text) { return text; }
  static std::string cell(double number) { return format_exact(number); }
  static std::string cell(std::int64_t number) { return std::to_string(number); }
  static std::string cell(int number) { return std::to_string(number); }

  template <class Value>
  ColumnTable& add(const std::string& title, bool is_number, bool may_be_empty, const Value& value) {
    std::vector<std::string> texts;
    for (const Row& row : rows_) texts.push_back(cell(std::invoke(value, row)));
    if (!may_be_empty && std::ranges::all_of(texts, [](const std::string& text) { return text.empty(); })) return *this;
    table_.titles.push_back(title);
    table_.is_number.push_back(is_number);
    for (std::size_t row = 0; row < texts.size(); ++row) table_.rows[row].push_back(texts[row]);
    return *this;
  }

  const std::vector<Row>& rows_;
  TextTable table_;
};

}  // namespace drift
