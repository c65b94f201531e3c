#include "reward.h"

#include <drift/error.h>

#include <algorithm>
#include <map>
#include <string>

#include "reference.h"

namespace sudoku {
namespace {

using drift::RewardResult;
using drift::RewardStatus;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Tags are lower case; a response may write them in any case.
bool same_letter(char written, char tag) {
  return written == tag || (written >= 'A' && written <= 'Z' && written - 'A' + 'a' == tag);
}

std::size_t find_first(std::string_view text, std::string_view tag) {
  const auto found = std::search(text.begin(), text.end(), tag.begin(), tag.end(), same_letter);
  return found == text.end() ? std::string_view::npos : static_cast<std::size_t>(found - text.begin());
}

std::size_t find_last(std::string_view text, std::string_view tag) {
  const auto found = std::find_end(text.begin(), text.end(), tag.begin(), tag.end(), same_letter);
  return found == text.end() ? std::string_view::npos : static_cast<std::size_t>(found - text.begin());
}

// Four lines of four digits and not one character more.
std::optional<Grid> read_raw(std::string_view response, RewardResult& result) {
  if (response.empty()) {
    result.status = RewardStatus::kNoAnswer;
    result.reason = "the response is empty";
    return std::nullopt;
  }
  result.status = RewardStatus::kParseError;
  Grid grid;
  std::size_t line = 0;
  for (std::string_view rest = response;; ++line) {
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    if (line < 4 && length != 4) {
      result.reason = "line " + std::to_string(line + 1) + " has " + std::to_string(length) + " bytes, not 4 digits";
      return std::nullopt;
    }
    if (line < 4) std::copy_n(rest.begin(), 4, grid.begin() + static_cast<std::ptrdiff_t>(4 * line));
    if (length == rest.size()) break;
    rest.remove_prefix(length + 1);
  }
  if (line != 3) {
    result.reason = "the response has " + std::to_string(line + 1) + " lines, not 4";
    return std::nullopt;
  }
  const auto other = std::find_if_not(grid.begin(), grid.end(), is_digit);
  if (other == grid.end()) return grid;
  result.reason = cell_name(static_cast<std::size_t>(other - grid.begin())) + " is not a digit";
  return std::nullopt;
}

// "clue r1c3 changed", …: why `answer` does not solve the puzzle; empty if it does.
std::string fault(const Grid& answer, const Grid& clues) {
  for (std::size_t cell = 0; cell < answer.size(); ++cell) {
    if (answer[cell] < '1' || answer[cell] > '4') return cell_name(cell) + " is " + answer[cell] + ", not 1 to 4";
  }
  for (std::size_t cell = 0; cell < answer.size(); ++cell) {
    if (clues[cell] != '0' && clues[cell] != answer[cell]) {
      return "clue " + cell_name(cell) + " changed from " + clues[cell] + " to " + answer[cell];
    }
  }
  return broken_rule(answer);
}

// Number of empty cells that are filled as in `solution`.
std::size_t count_right(const Grid& answer, const Grid& clues, const Grid& solution) {
  std::size_t right = 0;
  for (std::size_t cell = 0; cell < answer.size(); ++cell) {
    right += clues[cell] == '0' && answer[cell] == solution[cell];
  }
  return right;
}

std::size_t count_right_at_best(const Grid& answer, const Grid& clues) {
  std::size_t best = 0;
  for (const std::size_t grid : solutions(clues)) best = std::max(best, count_right(answer, clues, all_grids()[grid]));
  return best;
}

}  // namespace

drift::ParamSpecs SudokuReward::parameters() {
  return {{"answer", "raw", "raw: the response is the grid; tags: the last <answer> block holds it",
           drift::one_of({"raw", "tags"})},
          {"unclosed", "strict",
           "with tags: strict: a last <answer> that is not closed is no answer; lenient: it is read up to the end",
           drift::one_of({"strict", "lenient"})},
          {"score", "grid_valid",
           "grid_valid: 1 for any solution; grid_exact: 1 for the stored one; cells: share of the empty cells right, "
           "by the nearest solution; cells_stored: by the stored one",
           drift::one_of({"grid_valid", "grid_exact", "cells", "cells_stored"})}};
}

SudokuReward::SudokuReward(const drift::Params& params)
    : tags_(params.get<std::string>("answer") == "tags"), lenient_(params.get<std::string>("unclosed") == "lenient") {
  static const std::map<std::string, Score> scores = {{"grid_valid", Score::kGridValid},
                                                      {"grid_exact", Score::kGridExact},
                                                      {"cells", Score::kCells},
                                                      {"cells_stored", Score::kCellsStored}};
  score_ = scores.at(params.get<std::string>("score"));
}

void SudokuReward::score(const drift::RewardRequest& request, RewardResult& result) const {
  const Reference reference = parse_reference(request.item);
  if (!reference.clues && score_ != Score::kGridExact) {
    throw drift::Error("item " + request.item->id + " has a solution but no puzzle, in its reference or its question",
                       "score = \"grid_exact\" compares with the solution alone");
  }
  Grid no_clues;
  no_clues.fill('0');
  const Puzzle puzzle{reference.clues.value_or(no_clues), reference.solution};
  result = {};
  if (const auto answer = find_answer(request.response, result)) judge(*answer, puzzle, result);
}

std::optional<Grid> SudokuReward::find_answer(std::string_view response, RewardResult& result) const {
  return tags_ ? find_tagged(response, result) : read_raw(response, result);
}

// Whatever separates the digits, 16 of them are the grid.
std::optional<Grid> SudokuReward::find_tagged(std::string_view response, RewardResult& result) const {
  constexpr std::string_view open = "<answer>";
  const std::size_t begin = find_last(response, open);
  result.status = RewardStatus::kNoAnswer;
  if (begin == std::string_view::npos) {
    result.reason = "the response has no <answer>";
    return std::nullopt;
  }
  std::string_view block = response.substr(begin + open.size());
  const std::size_t end = find_first(block, "</answer>");
  if (end == std::string_view::npos && !lenient_) {
    result.reason = "the last <answer> is not closed";
    return std::nullopt;
  }
  block = block.substr(0, end);
  const auto digits = std::count_if(block.begin(), block.end(), is_digit);
  if (digits != 16) {
    result.status = RewardStatus::kParseError;
    result.reason = "the answer has " + std::to_string(digits) + " digits, not 16";
    return std::nullopt;
  }
  Grid grid;
  std::copy_if(block.begin(), block.end(), grid.begin(), is_digit);
  return grid;
}

void SudokuReward::judge(const Grid& answer, const Puzzle& puzzle, RewardResult& result) const {
  const bool against_stored = score_ == Score::kGridExact || score_ == Score::kCellsStored;
  result.reason = fault(answer, puzzle.clues);
  if (result.reason.empty() && against_stored && answer != puzzle.solution) result.reason = "not the stored solution";
  result.solved = result.reason.empty();
  result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
  result.value = result.solved ? 1 : 0;
  const std::size_t blanks = count_blanks(puzzle.clues);
  if ((score_ == Score::kCells || score_ == Score::kCellsStored) && blanks > 0) {
    const std::size_t right =
        against_stored ? count_right(answer, puzzle.clues, puzzle.solution) : count_right_at_best(answer, puzzle.clues);
    result.value = static_cast<double>(right) / static_cast<double>(blanks);
    if (!result.solved) {
      result.reason.insert(0, std::to_string(right) + " of " + std::to_string(blanks) + " empty cells right; ");
    }
  }
  if (result.solved) result.reason = "solved";
}

}  // namespace sudoku
