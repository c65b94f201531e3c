#pragma once

#include <core/report/format.h>
#include <core/report/text_table.h>

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
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
  ColumnTable& text(std::string title, const Value& value) {
    return add(std::move(title), false, texts_of(value));
  }
  /// Aligned to the right.
  template <class Value>
  ColumnTable& number(std::string title, const Value& value) {
    return add(std::move(title), true, texts_of(value));
  }
  /// The same, left out where it is empty in every row.
  template <class Value>
  ColumnTable& known_number(std::string title, const Value& value) {
    auto texts = texts_of(value);
    const bool is_empty = std::ranges::all_of(texts, [](const std::string& text) { return text.empty(); });
    return is_empty ? *this : add(std::move(title), true, std::move(texts));
  }

  const TextTable& table() const { return table_; }

 private:
  template <class Value>
  std::vector<std::string> texts_of(const Value& value) const {
    std::vector<std::string> texts;
    for (const Row& row : rows_) {
      const auto& found = std::invoke(value, row);
      using Found = std::decay_t<decltype(found)>;
      if constexpr (std::is_floating_point_v<Found>) {
        texts.push_back(format_exact(found));
      } else if constexpr (std::is_integral_v<Found>) {
        texts.push_back(std::to_string(found));
      } else {
        texts.push_back(found);
      }
    }
    return texts;
  }

  ColumnTable& add(std::string title, bool is_number, std::vector<std::string> texts) {
    table_.titles.push_back(std::move(title));
    table_.is_number.push_back(is_number);
    for (std::size_t row = 0; row < texts.size(); ++row) table_.rows[row].push_back(std::move(texts[row]));
    return *this;
  }

  const std::vector<Row>& rows_;
  TextTable table_;
};

}  // namespace drift
