#include "grid.h"

#include <drift/answers.h>
#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/reward.h>

#include <math_answers.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace drift::sudoku {
namespace {

using Json = nlohmann::json;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Reference {
  std::optional<Grid> clues;  // empty: only the solution is known
  Grid solution;
};

// The last place where 16 digits from 0 to 4 follow each other with nothing but separators between them.
std::optional<Grid> last_grid(std::string_view text) {
  constexpr std::string_view digits_and_separators = "0123456789 \t\r\n|,";
  std::optional<Grid> last;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find_first_not_of(digits_and_separators, begin), text.size());
    std::string digits(text.substr(begin, end - begin));
    std::erase_if(digits, [](char c) { return !is_digit(c); });
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

// What an item says about its puzzle: {"puzzle": "16 digits", "solution": "16 digits"}, as the task `sudoku` writes it;
// or the solution alone, by itself or as a record's `ground_truth_answer`, with the clues from the last grid in the
// record's `question` or, without a record, in the item's question.
Reference parse_reference(const TaskItem* item) {
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
    throw Error("cannot read the reference of " + name,
                R"(it is {"puzzle": "16 digits", "solution": "16 digits"}, or a solution of 16 digits)");
  }
  if (!clues) clues = puzzle_in(item->prompt);
  if (clues && changed_clue(*solution, *clues) < clues->size()) {
    throw Error(
        "the reference of " + name + " is no solution of its puzzle " + std::string(clues->begin(), clues->end()),
        "solution and puzzle have 16 digits each, row by row, 0 for an empty cell");
  }
  return {clues, *solution};
}

// Why a response holds no grid.
struct Refusal {
  RewardStatus status;
  std::string reason;
};

// Four lines of four digits and not one character more.
Grid read_raw(std::string_view response) {
  if (response.empty()) throw Refusal{RewardStatus::kNoAnswer, "the response is empty"};
  const auto refusal = [](std::string reason) { return Refusal{RewardStatus::kParseError, std::move(reason)}; };
  Grid grid;
  std::size_t line = 0;
  for (std::string_view rest = response;; ++line) {
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    if (line < 4 && length != 4) {
      throw refusal("line " + std::to_string(line + 1) + " has " + std::to_string(length) + " bytes, not 4 digits");
    }
    if (line < 4) std::copy_n(rest.begin(), 4, grid.begin() + static_cast<std::ptrdiff_t>(4 * line));
    if (length == rest.size()) break;
    rest.remove_prefix(length + 1);
  }
  if (line != 3) throw refusal("the response has " + std::to_string(line + 1) + " lines, not 4");
  const auto other = std::find_if_not(grid.begin(), grid.end(), is_digit);
  if (other != grid.end()) {
    throw refusal(cell_name(static_cast<std::size_t>(other - grid.begin())) + " is not a digit");
  }
  return grid;
}

// Whatever separates the digits, 16 of them are the grid.
Grid read_tagged(std::string_view response, bool lenient) {
  const MarkedAnswer block = last_answer_block(response);
  if (!block.opened) throw Refusal{RewardStatus::kNoAnswer, "the response has no <answer>"};
  if (!block.closed && !lenient) throw Refusal{RewardStatus::kNoAnswer, "the last <answer> is not closed"};
  const auto digits = std::count_if(block.content->begin(), block.content->end(), is_digit);
  if (digits != 16) {
    throw Refusal{RewardStatus::kParseError, "the answer has " + std::to_string(digits) + " digits, not 16"};
  }
  Grid grid;
  std::copy_if(block.content->begin(), block.content->end(), grid.begin(), is_digit);
  return grid;
}

// "clue r1c3 changed", …: why `answer` does not solve the puzzle; empty if it does.
std::string fault(const Grid& answer, const Grid& clues) {
  for (std::size_t cell = 0; cell < answer.size(); ++cell) {
    if (answer[cell] < '1' || answer[cell] > '4') return cell_name(cell) + " is " + answer[cell] + ", not 1 to 4";
  }
  if (const std::size_t cell = changed_clue(answer, clues); cell < answer.size()) {
    return "clue " + cell_name(cell) + " changed from " + clues[cell] + " to " + answer[cell];
  }
  return broken_rule(answer);
}

enum class Score { kGridValid, kGridExact, kCells, kCellsStored };
constexpr Choices<Score, 4> kScores{{{"grid_valid", Score::kGridValid},
                                     {"grid_exact", Score::kGridExact},
                                     {"cells", Score::kCells},
                                     {"cells_stored", Score::kCellsStored}}};

/// Judges a grid that a response holds.
class SudokuReward final : public Reward {
 public:
  explicit SudokuReward(Parameters& parameters)
      : tags_(parameters("answer", "raw", "raw: the response is the grid; tags: the last <answer> block holds it",
                         one_of({"raw", "tags"})) == "tags"),
        lenient_(parameters("unclosed", "strict",
                            "with tags: strict: a last <answer> that is not closed is no answer; lenient: it is read "
                            "up to the end",
                            one_of({"strict", "lenient"})) == "lenient"),
        score_(parameters("score", kScores, Score::kGridValid,
                          "grid_valid: 1 for any solution; grid_exact: 1 for the stored one; cells: share of the empty "
                          "cells right, by the nearest solution; cells_stored: by the stored one")) {}

  /// @throws Error if the item's reference is not a Sudoku puzzle, or lacks what `score` needs. Any response is judged.
  void score(const RewardRequest& request, RewardResult& result) const override {
    const Reference reference = parse_reference(request.item);
    if (!reference.clues && score_ != Score::kGridExact) {
      throw Error("item " + request.item->id + " has a solution but no puzzle, in its reference or its question",
                  "score = \"grid_exact\" compares with the solution alone");
    }
    result = {};
    const std::string response = math_answers::in_ascii(request.response);
    try {
      judge(tags_ ? read_tagged(response, lenient_) : read_raw(response), reference, result);
    } catch (const Refusal& refusal) {
      result.status = refusal.status;
      result.reason = refusal.reason;
    }
  }

 private:
  void judge(const Grid& answer, const Reference& reference, RewardResult& result) const {
    Grid no_clues;
    no_clues.fill('0');
    const Grid clues = reference.clues.value_or(no_clues);
    const bool against_stored = score_ == Score::kGridExact || score_ == Score::kCellsStored;
    result.reason = fault(answer, clues);
    if (result.reason.empty() && against_stored && answer != reference.solution) {
      result.reason = "not the stored solution";
    }
    result.solved = result.reason.empty();
    result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
    result.value = result.solved ? 1 : 0;
    const std::size_t blanks = count_blanks(clues);
    if ((score_ == Score::kCells || score_ == Score::kCellsStored) && blanks > 0) {
      const std::size_t right =
          against_stored ? count_right(answer, clues, reference.solution) : count_right_at_best(answer, clues);
      result.value = static_cast<double>(right) / static_cast<double>(blanks);
      if (!result.solved) {
        result.reason.insert(0, std::to_string(right) + " of " + std::to_string(blanks) + " empty cells right; ");
      }
    }
    if (result.solved) result.reason = "solved";
  }

  bool tags_;
  bool lenient_;
  Score score_;
};

}  // namespace
}  // namespace drift::sudoku

DRIFT_PLUGIN("sudoku", "1.0.0", "Apache-2.0") {
  registry.add<drift::sudoku::SudokuReward>("sudoku",
                                            "Judges a 4x4 Sudoku grid by the rules or by the stored solution.");
}
