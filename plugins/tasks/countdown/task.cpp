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
#include <vector>

namespace drift::countdown {
namespace {

// The held-out puzzles are the same in every run, whatever its seed; so is what may be one.
constexpr std::uint64_t kHeldOutSeed = 60;
constexpr std::int64_t kHeldOutOf = 8;  // one puzzle of so many is held out

// More draws than any usable settings need.
constexpr std::int64_t kMostDraws = 100'000;

// What is drawn for a puzzle; each has its own position of the random point. Numbers take positions from kNumbers on.
enum Position : std::int64_t { kTarget = 0, kDemonstration = 1, kNumbers = 2 };

RandomPoint point_of_item(std::int64_t index) {
  return {.step = index & 0xFFFFFFFF, .response = index >> 32};  // a field holds 32 bits
}

RandomPoint at(RandomPoint point, std::int64_t position) {
  point.position = position;
  return point;
}

/// Random Countdown puzzles, each with a solution by the chosen rules. A puzzle is held out or not by its numbers, in
/// any order, together with its target: by a hash of them or, where there is a file of held-out puzzles, by that file.
class CountdownTask final : public Task {
 public:
  static ParamSpecs parameters();
  explicit CountdownTask(const Params& params);

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
  std::vector<Puzzle> draw_held_out(std::size_t size) const;
  void read_held_out(const std::string& file, std::size_t size);
  void render(const Puzzle& puzzle, TaskItem& item) const;
  std::string demonstration(const Solved& solved, double chance) const;
  void check_ranges() const;

  std::size_t count_;
  std::int64_t number_low_, number_high_;
  std::int64_t target_low_, target_high_;
  bool sorted_;
  std::string operators_;
  Rules rules_;
  std::string prompt_;
  double correct_sums_, correct_products_;
  std::vector<Puzzle> held_out_;
  std::set<std::string> file_keys_;  ///< key_of every puzzle of the file; empty: no file, the hash decides
};

ParamSpecs CountdownTask::parameters() {
  return {
      {"count", 3, "numbers of a puzzle", between(2, kMostNumbers)},
      {"number_low", 1, "smallest number", between(1, 1000)},
      {"number_high", 100, "largest number", between(1, 1000)},
      {"target_low", 1, "smallest target", between(1, 1000000)},
      {"target_high", 100, "largest target", between(1, 1000000)},
      {"sorted", false, "the largest number comes first; easier for small models"},
      {"operators", "+-*/", "operators that a puzzle may need, of + - * /"},
      {"use", "exactly_once", "a puzzle must have a solution that uses each number so often",
       one_of({"at_most_once", "exactly_once"})},
      {"intermediates", "positive_integer", "and whose steps have such values", one_of({"any", "positive_integer"})},
      {"prompt", "raw", "the puzzle alone, for small models, or with the words of the paper, of d1 or of ESPO",
       one_of(prompt_names())},
      {"correct_sums", 0.6, "share of correct demonstrations where + and - suffice", between(0, 1)},
      {"correct_products", 0.3, "share of correct demonstrations where * or / is needed", between(0, 1)},
      {"held_out_size", 400, "number of held-out puzzles; of a file, at most so many", between(1, 10000)},
      path("held_out_file", "",
           "JSON Lines of puzzles to evaluate on instead of drawn ones; none of them is a training puzzle")};
}

CountdownTask::CountdownTask(const Params& params)
    : count_(static_cast<std::size_t>(params.get<std::int64_t>("count"))),
      number_low_(params.get<std::int64_t>("number_low")),
      number_high_(params.get<std::int64_t>("number_high")),
      target_low_(params.get<std::int64_t>("target_low")),
      target_high_(params.get<std::int64_t>("target_high")),
      sorted_(params.get<bool>("sorted")),
      operators_(params.get<std::string>("operators")),
      rules_{params.get<std::string>("use") == "exactly_once",
             params.get<std::string>("intermediates") == "positive_integer"},
      prompt_(params.get<std::string>("prompt")),
      correct_sums_(params.get<double>("correct_sums")),
      correct_products_(params.get<double>("correct_products")) {
  check_ranges();
  const auto size = static_cast<std::size_t>(params.get<std::int64_t>("held_out_size"));
  if (const auto file = params.get<std::string>("held_out_file"); file.empty()) {
    held_out_ = draw_held_out(size);
  } else {
    read_held_out(file, size);
  }
  draw_solvable(RandomStream(kHeldOutSeed, "countdown training puzzles"), {}, false);  // there are some
}

void CountdownTask::check_ranges() const {
  const auto check = [](const std::string& what, std::int64_t low, std::int64_t high) {
    if (low <= high) return;
    throw Error(what + "_low = " + std::to_string(low) + " is more than " + what + "_high = " + std::to_string(high),
                "set both, the smaller one as " + what + "_low");
  };
  check("number", number_low_, number_high_);
  check("target", target_low_, target_high_);
  const std::set<char> different(operators_.begin(), operators_.end());
  const bool known = operators_.find_first_not_of("+-*/") == std::string::npos;
  if (operators_.empty() || !known || different.size() != operators_.size()) {
    throw Error("operators = \"" + operators_ + "\" is not a choice of + - * /", "for example operators = \"+-*\"");
  }
}

void CountdownTask::training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const {
  const Solved solved = draw_solvable(random, point_of_item(index), false);
  render(solved.puzzle, item);
  if (prompt_ != "raw") return;
  item.demonstration = demonstration(solved, random.uniform(at(point_of_item(index), kDemonstration)));
}

void CountdownTask::held_out_item(std::int64_t index, TaskItem& item) const {
  if (index < 0 || index >= held_out_size()) {
    throw Error("there is no held-out item " + std::to_string(index) + ", only " + std::to_string(held_out_size()) +
                " from 0 on");
  }
  render(held_out_[static_cast<std::size_t>(index)], item);
}

Puzzle CountdownTask::draw(const RandomStream& random, RandomPoint point) const {
  Puzzle puzzle;
  puzzle.target = target_low_ + random.below(target_high_ - target_low_ + 1, at(point, kTarget));
  for (std::size_t i = 0; i < count_; ++i) {
    const auto position = kNumbers + static_cast<std::int64_t>(i);
    puzzle.numbers.push_back(number_low_ + random.below(number_high_ - number_low_ + 1, at(point, position)));
  }
  if (sorted_) std::sort(puzzle.numbers.rbegin(), puzzle.numbers.rend());
  return puzzle;
}

bool CountdownTask::is_held_out(const Puzzle& puzzle) const {
  if (!file_keys_.empty()) return file_keys_.contains(key_of(puzzle));
  static const RandomStream split(kHeldOutSeed, "countdown split");
  return split.child(key_of(puzzle)).below(kHeldOutOf, {}) == 0;
}

// A puzzle that cannot be used is thrown away whole and drawn again.
CountdownTask::Solved CountdownTask::draw_solvable(const RandomStream& random, RandomPoint point, bool held_out) const {
  for (point.draw = 0; point.draw < kMostDraws; ++point.draw) {
    const Puzzle puzzle = draw(random, point);
    if (is_held_out(puzzle) != held_out) continue;
    auto solution = simplest_solution(puzzle.numbers, puzzle.target, operators_);
    const bool any_rules = !rules_.all_numbers || !rules_.positive_integers;
    if (solution || (any_rules && is_solvable(puzzle.numbers, puzzle.target, operators_, rules_))) {
      return {puzzle, std::move(solution)};
    }
  }
  throw Error(std::to_string(kMostDraws) + " random puzzles of " + std::to_string(count_) + " numbers from " +
                  std::to_string(number_low_) + " to " + std::to_string(number_high_) + " with targets from " +
                  std::to_string(target_low_) + " to " + std::to_string(target_high_) + " hold none that can be used",
              "widen the ranges, or allow more operators");
}

std::vector<Puzzle> CountdownTask::draw_held_out(std::size_t size) const {
  const RandomStream random(kHeldOutSeed, "countdown held-out puzzles");
  const std::int64_t most_items = 20 * static_cast<std::int64_t>(size) + 1000;
  std::vector<Puzzle> puzzles;
  std::set<std::string> seen;
  for (std::int64_t index = 0; puzzles.size() < size && index < most_items; ++index) {
    Puzzle puzzle = draw_solvable(random, point_of_item(index), true).puzzle;
    if (seen.insert(key_of(puzzle)).second) puzzles.push_back(std::move(puzzle));
  }
  if (puzzles.size() < size) {
    throw Error("these settings give only " + std::to_string(puzzles.size()) + " different held-out puzzles, not " +
                    std::to_string(size),
                "lower held_out_size, or widen the ranges of numbers and targets");
  }
  return puzzles;
}

// All puzzles of the file are kept out of training, also those beyond `size`.
void CountdownTask::read_held_out(const std::string& file, std::size_t size) {
  held_out_ = read_puzzle_file(file);
  for (const Puzzle& puzzle : held_out_) file_keys_.insert(key_of(puzzle));
  if (held_out_.size() > size) held_out_.resize(size);
}

// The careless answer adds the numbers up as they come, blind to the target.
std::string CountdownTask::demonstration(const Solved& solved, double chance) const {
  const double correct = solved.solution && solved.solution->only_sums ? correct_sums_ : correct_products_;
  return solved.solution && chance < correct ? solved.solution->text : joined(solved.puzzle.numbers, "+");
}

void CountdownTask::render(const Puzzle& puzzle, TaskItem& item) const {
  item.id = name_of(puzzle);
  item.prompt = prompt_of(puzzle, prompt_);
  item.reference =
      R"({"numbers": [)" + joined(puzzle.numbers, ", ") + R"(], "target": )" + std::to_string(puzzle.target) + "}";
  item.demonstration.clear();
}

}  // namespace
}  // namespace drift::countdown

DRIFT_PLUGIN("countdown_task", "1.0.0", "Apache-2.0") {
  using drift::countdown::CountdownTask;
  registry.add<CountdownTask>("countdown",
                              "Random Countdown puzzles that can be solved; one in 8 held out, or a file's.",
                              CountdownTask::parameters());
}
