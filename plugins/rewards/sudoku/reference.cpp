#include "reference.h"

#include <drift/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sudoku {
namespace {

using Json = nlohmann::json;

// The last place where 16 digits from 0 to 4 follow each other with nothing but separators between them.
std::optional<Grid> last_grid(std::string_view text) {
  constexpr std::string_view digits_and_separators = "0123456789 \t\r\n|,";
  std::optional<Grid> last;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find_first_not_of(digits_and_separators, begin), text.size());
    std::string digits(text.substr(begin, end - begin));
    digits.erase(std::remove_if(digits.begin(), digits.end(), [](char c) { return c < '0' || c > '9'; }), digits.end());
    if (const auto grid = parse_grid(digits)) last = grid;
  }
  return last;
}

std::optional<Grid> complete(std::optional<Grid> grid) {
  return grid && count_blanks(*grid) == 0 && broken_rule(*grid).empty() ? grid : std::nullopt;
}

std::optional<Grid> puzzle_in(std::string_view question) {
  const auto grid = last_grid(question);
  return grid && count_blanks(*grid) > 0 ? grid : std::nullopt;
}

std::string text_at(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

bool keeps_clues(const Grid& solution, const Grid& clues) {
  return std::equal(clues.begin(), clues.end(), solution.begin(),
                    [](char clue, char digit) { return clue == '0' || clue == digit; });
}

}  // namespace

Reference parse_reference(const drift::TaskItem* item) {
  const std::string name = item == nullptr ? "no item" : "item " + item->id;
  const std::string written = item == nullptr ? "" : item->reference;
  const auto json = Json::parse(written, nullptr, false);
  std::optional<Grid> clues, solution;
  if (json.is_object() && json.contains("puzzle")) {
    clues = parse_grid(text_at(json, "puzzle"));
    if (clues) solution = complete(parse_grid(text_at(json, "solution")));
  } else if (json.is_object()) {
    solution = complete(last_grid(text_at(json, "ground_truth_answer")));
    clues = puzzle_in(text_at(json, "question"));
  } else {
    solution = complete(last_grid(written));
  }
  if (!solution) {
    throw drift::Error("cannot read the reference of " + name,
                       R"(it is {"puzzle": "16 digits", "solution": "16 digits"}, or a solution of 16 digits)");
  }
  if (!clues) clues = puzzle_in(item->prompt);
  if (clues && !keeps_clues(*solution, *clues)) {
    throw drift::Error("the reference of " + name + " is no solution of its puzzle " + to_text(*clues),
                       "solution and puzzle have 16 digits each, row by row, 0 for an empty cell");
  }
  return {clues, *solution};
}

}  // namespace sudoku
