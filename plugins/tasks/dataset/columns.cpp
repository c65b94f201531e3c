#include "columns.h"

#include "text.h"

#include <drift/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace drift::dataset {
namespace {

const Json* find_element(const Json& list, std::string_view number) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  return whole && index < list.size() ? &list[index] : nullptr;
}

const Json* find_one(const Json& record, std::string_view column) {
  if (const auto found = record.find(std::string(column)); found != record.end()) return &*found;
  const Json* value = &record;
  while (value != nullptr && !column.empty()) {
    const std::string_view step = column.substr(0, column.find('.'));
    column.remove_prefix(std::min(step.size() + 1, column.size()));
    if (value->is_array()) {
      value = find_element(*value, step);
    } else {
      const auto found = value->is_object() ? value->find(std::string(step)) : value->end();
      value = found == value->end() ? nullptr : &*found;
    }
  }
  return value;
}

// The first of "a|b", which loses it.
std::string_view take_column(std::string_view& columns) {
  const std::string_view column = columns.substr(0, columns.find('|'));
  columns.remove_prefix(std::min(column.size() + 1, columns.size()));
  return trimmed(column);
}

}  // namespace

const Json* find_column(const Json& record, std::string_view columns) {
  while (!columns.empty()) {
    const Json* value = find_one(record, take_column(columns));
    if (value != nullptr && !value->is_null()) return value;
  }
  return nullptr;
}

void add_fields(std::string_view columns, std::set<std::string>& fields) {
  while (!columns.empty()) {
    const std::string_view column = take_column(columns);
    fields.emplace(column);
    fields.emplace(column.substr(0, column.find('.')));
  }
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    constexpr double exact = 9007199254740992.0;  // 2^53
    std::array<char, 400> text;                   // the smallest number has 327
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed).ptr;
    if (std::abs(number) < exact) return {text.data(), end};
  }
  return value.dump();
}

Template::Template(std::string_view text, const std::string& parameter) {
  std::string words;
  const auto end_words = [&] {
    if (!words.empty()) pieces_.push_back({Kind::kText, std::move(words)});
    words.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "{{" || text.substr(i, 2) == "}}") {
      words += text[i++];
    } else if (text[i] == '{' && text.find('}', i) != std::string_view::npos) {
      end_words();
      const std::size_t end = text.find('}', i);
      add_place(text.substr(i + 1, end - i - 1), parameter);
      i = end;
    } else if (text[i] == '{' || text[i] == '}') {
      throw Error("`" + parameter + "` has a single brace", "write {column}, or {{ and }} for braces themselves");
    } else {
      words += text[i];
    }
  }
  end_words();
}

void Template::add_place(std::string_view place, const std::string& parameter) {
  const std::size_t colon = place.find(':');
  const std::string_view column = trimmed(place.substr(0, colon));
  const bool has_form = colon != std::string_view::npos;
  if (column.empty() || (has_form && place.substr(colon + 1) != "signature")) {
    throw Error("`" + parameter + "` has a place {" + std::string(place) + "}",
                "write {column}, {column.0} for an element of a list, or {column:signature}");
  }
  pieces_.push_back({has_form ? Kind::kSignature : Kind::kColumn, std::string(column)});
}

void Template::add_fields(std::set<std::string>& fields) const {
  for (const Piece& piece : pieces_) {
    if (piece.kind != Kind::kText) dataset::add_fields(piece.text, fields);
  }
}

std::string Template::fill(const Json& record) const {
  std::string filled;
  for (const Piece& piece : pieces_) {
    if (piece.kind == Kind::kText) {
      filled += piece.text;
      continue;
    }
    const Json* value = find_column(record, piece.text);
    if (value == nullptr) throw Error("`" + piece.text + "` is missing");
    const std::string text = text_of(*value);
    if (piece.kind == Kind::kSignature && signature(text).empty())
      throw Error("`" + piece.text + "` has no line that begins with `def`");
    filled += piece.kind == Kind::kSignature ? std::string(signature(text)) : text;
  }
  return filled;
}

}  // namespace drift::dataset
