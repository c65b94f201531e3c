#include "columns.h"

#include "messages.h"
#include "text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

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

// "prompt.0" of "prompt.0.content"; empty if it is one step.
std::string_view without_last_step(std::string_view column) {
  const std::size_t dot = column.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : column.substr(0, dot);
}

// The first of "a|b", which loses it.
std::string_view take_column(std::string_view& columns) {
  const std::string_view column = columns.substr(0, columns.find('|'));
  columns.remove_prefix(std::min(column.size() + 1, columns.size()));
  return trimmed(column);
}

// The column of "a|b" that the record has, and its value.
std::pair<std::string_view, const Json*> find_named(const Json& record, std::string_view columns) {
  while (!columns.empty()) {
    const std::string_view column = take_column(columns);
    const Json* value = find_one(record, column);
    if (value != nullptr && !value->is_null()) return {column, value};
  }
  return {};
}

}  // namespace

const Json* find_column(const Json& record, std::string_view columns) { return find_named(record, columns).second; }

void check_turns(const Json& record, const std::vector<std::string>& columns) {
  std::map<std::string_view, bool> asked;  // lists of messages, and whether their last user turn is among the columns
  for (const std::string& names : columns) {
    const std::string_view column = find_named(record, names).first, turn = without_last_step(column),
                           list = without_last_step(turn);
    const Json* messages = list.empty() ? nullptr : find_one(record, list);
    if (messages == nullptr || !is_messages(*messages)) continue;
    const std::size_t last = last_user_turn(*messages);
    asked[list] |= last < messages->size() && find_one(record, turn) == &(*messages)[last];
  }
  for (const auto& [list, has_question] : asked) {
    if (!has_question)
      throw Error("the question is not the last user turn of `" + std::string(list) +
                  "`; take the conversation as it is: task.question_column = \"" + std::string(list) + "\"");
  }
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

Template::Template(std::string_view text, std::string parameter) : parameter_(std::move(parameter)) {
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
      add_place(text.substr(i + 1, end - i - 1));
      i = end;
    } else if (text[i] == '{' || text[i] == '}') {
      throw Error("`" + parameter_ + "` has a single brace", "write {column}, or {{ and }} for braces themselves");
    } else {
      words += text[i];
    }
  }
  end_words();
}

void Template::add_place(std::string_view place) {
  const std::size_t colon = place.find(':');
  const std::string_view column = trimmed(place.substr(0, colon));
  const bool has_form = colon != std::string_view::npos;
  if (column.empty() || (has_form && place.substr(colon + 1) != "signature")) {
    throw Error("`" + parameter_ + "` has a place {" + std::string(place) + "}",
                "write {column}, {column.0} for an element of a list, or {column:signature}");
  }
  pieces_.push_back({has_form ? Kind::kSignature : Kind::kColumn, std::string(column)});
}

std::vector<std::string> Template::columns() const {
  std::vector<std::string> columns;
  for (const Piece& piece : pieces_) {
    if (piece.kind != Kind::kText) columns.push_back(piece.text);
  }
  return columns;
}

std::string Template::fill(const Json& record) const {
  std::string filled;
  for (const Piece& piece : pieces_) {
    if (piece.kind == Kind::kText) {
      filled += piece.text;
      continue;
    }
    const Json* value = find_column(record, piece.text);
    if (value == nullptr) throw MissingColumn(piece.text, parameter_);
    if (is_messages(*value))
      throw Error("`" + piece.text + "` is a list of messages, which task.question_column takes");
    const std::string text = text_of(*value);
    if (piece.kind == Kind::kSignature && signature(text).empty())
      throw Error("`" + piece.text + "` has no line that begins with `def`");
    filled += piece.kind == Kind::kSignature ? std::string(signature(text)) : text;
  }
  return filled;
}

}  // namespace drift::dataset
