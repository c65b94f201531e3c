#include "drawn_items.h"
#include "puzzle.h"
#include "search.h"

#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/task.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace drift::countdown {
namespace {

constexpr std::int64_t kHeldOutOf = 8;  // one puzzle of so many is held out

// What is drawn for a puzzle; each has its own position of the random point. Numbers take positions from kNumbers on.
enum Position : std::int64_t { kTarget = 0, kDemonstration = 1, kNumbers = 2 };

using tasks::at;
using tasks::point_of_item;

// Which values the steps of a solution may have, and how often a number may be used.
constexpr Choices<bool, 2> kUses{{{"at_most_once", false}, {"exactly_once", true}}};
constexpr Choices<bool, 2> kIntermediates{{{"any", false}, {"positive_integer", true}}};

struct Settings {
  explicit Settings(Parameters& parameters)
      : count(parameters("count", 3, "numbers of a puzzle", between(2, kMostNumbers))),
        number_low(parameters("number_low", 1, "smallest number", between(1, 1000))),
        number_high(parameters("number_high", 100, "largest number", between(1, 1000))),
        target_low(parameters("target_low", 1, "smallest target", between(1, 1000000))),
        target_high(parameters("target_high", 100, "largest target", between(1, 1000000))),
        sorted(parameters("sorted", false, "the largest number comes first; easier for small models")),
        operators(parameters("operators", "+-*/", "operators that a puzzle may need, of + - * /")),
        rules{parameters("use", kUses, true, "a puzzle must have a solution that uses each number so often"),
              parameters("intermediates", kIntermediates, true, "and whose steps have such values")},
        prompt(parameters("prompt", "raw",
                          "the puzzle alone, for small models, or with the words of the paper, of d1 or of ESPO",
                          one_of(prompt_names()))),
        correct_sums(
            parameters("correct_sums", 0.6, "share of correct demonstrations where + and - suffice", between(0, 1))),
        correct_products(parameters("correct_products", 0.3, "share of correct demonstrations where * or / is needed",
                                    between(0, 1))),
        held_out_size(parameters("held_out_size", 400, "number of held-out puzzles; of a file, at most so many",
                                 between(1, 10000))),
        held_out_file(parameters(
            path("held_out_file", "",
                 "JSON Lines of puzzles to evaluate on instead of drawn ones; none of them is a training puzzle"))) {}

  std::int64_t count;
  std::int64_t number_low, number_high;
  std::int64_t target_low, target_high;
  bool sorted;
  std::string operators;
  Rules rules;
  std::string prompt;
  double correct_sums, correct_products;
  std::int64_t held_out_size;
  std::string held_out_file;
};

/// Random Countdown puzzles, each with a solution by the chosen rules. A puzzle is held out or not by its numbers, in
/// any order, together with its target: by a hash of them or, where there is a file of held-out puzzles, by that file.
class CountdownTask final : public Task {
 public:
  explicit CountdownTask(const Parameters& params);

  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, TaskItem& item) const override;

 private:
  struct Solved {
    Puzzle puzzle;
    std::optional<Solution> solution;  ///< with all numbers and positive integers throughout, where there is one
  };

  Puzzle draw(const RandomStream& random, RandomPoint point) const;
  bool is_held_out(const Puzzle& puzzle) const;
  Solved draw_solvable(const RandomStream& random, RandomPoint point, bool held_out) const;
  std::vector<Puzzle> draw_held_out() const;
  void read_held_out();
  void render(const Puzzle& puzzle, TaskItem& item) const;
  std::string demonstration(const Solved& solved, double chance) const;
  void check_ranges() const;

  Settings settings_;
  std::vector<Puzzle> held_out_;
  std::set<std::string> file_keys_;  ///< key_of every puzzle of the file; empty: no file, the hash decides
};

CountdownTask::CountdownTask(const Parameters& params) : settings_(tasks::given<Settings>(params)) {
  check_ranges();
  if (settings_.held_out_file.empty()) {
    held_out_ = draw_held_out();
  } else {
    read_held_out();
  }
  draw_solvable(RandomStream(tasks::kHeldOutSeed, "countdown training puzzles"), {}, false);  // there are some
}

void CountdownTask::check_ranges() const {
  tasks::require_range("number", settings_.number_low, settings_.number_high, "one");
  tasks::require_range("target", settings_.target_low, settings_.target_high, "one");
  const std::string& operators = settings_.operators;
  const std::set<char> different(operators.begin(), operators.end());
  const bool known = operators.find_first_not_of("+-*/") == std::string::npos;
  if (operators.empty() || !known || different.size() != operators.size()) {
    throw Error("operators = \"" + operators + "\" is not a choice of + - * /", "for example operators = \"+-*\"");
  }
}

void CountdownTask::training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const {
  const Solved solved = draw_solvable(random, point_of_item(index), false);
  render(solved.puzzle, item);
  if (settings_.prompt != "raw") return;
  item.demonstration = demonstration(solved, random.uniform(at(point_of_item(index), kDemonstration)));
}

void CountdownTask::held_out_item(std::int64_t index, TaskItem& item) const {
  render(tasks::held_out_at(held_out_, index), item);
}

Puzzle CountdownTask::draw(const RandomStream& random, RandomPoint point) const {
  const auto [count, number_low, number_high, target_low, target_high] = std::tie(
      settings_.count, settings_.number_low, settings_.number_high, settings_.target_low, settings_.target_high);
  Puzzle puzzle;
  puzzle.target = target_low + random.below(target_high - target_low + 1, at(point, kTarget));
  for (std::int64_t i = 0; i < count; ++i) {
    puzzle.numbers.push_back(number_low + random.below(number_high - number_low + 1, at(point, kNumbers + i)));
  }
  if (settings_.sorted) std::sort(puzzle.numbers.rbegin(), puzzle.numbers.rend());
  return puzzle;
}

bool CountdownTask::is_held_out(const Puzzle& puzzle) const {
  if (!file_keys_.empty()) return file_keys_.contains(key_of(puzzle));
  static const RandomStream split(tasks::kHeldOutSeed, "countdown split");
  return split.child(key_of(puzzle)).below(kHeldOutOf, {}) == 0;
}

// A puzzle that cannot be used is thrown away whole and drawn again.
CountdownTask::Solved CountdownTask::draw_solvable(const RandomStream& random, RandomPoint point, bool held_out) const {
  for (point.draw = 0; point.draw < tasks::kMostDraws; ++point.draw) {
    const Puzzle puzzle = draw(random, point);
    if (is_held_out(puzzle) != held_out) continue;
    auto solution = simplest_solution(puzzle.numbers, puzzle.target, settings_.operators);
    const bool any_rules = !settings_.rules.all_numbers || !settings_.rules.positive_integers;
    if (solution || (any_rules && is_solvable(puzzle.numbers, puzzle.target, settings_.operators, settings_.rules))) {
      return {puzzle, std::move(solution)};
    }
  }
  throw Error(std::to_string(tasks::kMostDraws) + " random puzzles of " + std::to_string(settings_.count) +
                  " numbers from " + std::to_string(settings_.number_low) + " to " +
                  std::to_string(settings_.number_high) + " with targets from " + std::to_string(settings_.target_low) +
                  " to " + std::to_string(settings_.target_high) + " hold none that can be used",
              "widen the ranges, or allow more operators");
}

std::vector<Puzzle> CountdownTask::draw_held_out() const {
  const RandomStream random(tasks::kHeldOutSeed, "countdown held-out puzzles");
  const auto draw = [&](std::int64_t index) {
    return std::optional(draw_solvable(random, point_of_item(index), true).puzzle);
  };
  return tasks::draw_different<Puzzle>(settings_.held_out_size, 20 * settings_.held_out_size + 1000, draw, key_of,
                                       "these settings give", "held-out puzzles",
                                       "lower held_out_size, or widen the ranges of numbers and targets");
}

// All puzzles of the file are kept out of training, also those beyond `held_out_size`.
void CountdownTask::read_held_out() {
  held_out_ = read_puzzle_file(settings_.held_out_file);
  for (const Puzzle& puzzle : held_out_) file_keys_.insert(key_of(puzzle));
  const auto size = static_cast<std::size_t>(settings_.held_out_size);
  if (held_out_.size() > size) held_out_.resize(size);
}

// The careless answer adds the numbers up as they come, blind to the target.
std::string CountdownTask::demonstration(const Solved& solved, double chance) const {
  const double correct =
      solved.solution && solved.solution->only_sums ? settings_.correct_sums : settings_.correct_products;
  return solved.solution && chance < correct ? solved.solution->text : joined(solved.puzzle.numbers, "+");
}

void CountdownTask::render(const Puzzle& puzzle, TaskItem& item) const {
  item.id = name_of(puzzle);
  item.prompt = prompt_of(puzzle, settings_.prompt);
  item.reference =
      R"({"numbers": [)" + joined(puzzle.numbers, ", ") + R"(], "target": )" + std::to_string(puzzle.target) + "}";
  item.demonstration.clear();
}

}  // namespace
}  // namespace drift::countdown

DRIFT_PLUGIN("countdown_task", "1.0.0", "Apache-2.0") {
  using drift::countdown::CountdownTask;
  using drift::countdown::Settings;
  registry.add<CountdownTask>("countdown",
                              "Random Countdown puzzles that can be solved; one in 8 held out, or a file's.",
                              drift::tasks::declared<Settings>());
}
