#include "task.h"

#include <drift/error.h>

#include <algorithm>
#include <set>

namespace countdown {
namespace {

// The held-out puzzles are the same in every run, whatever its seed; so is what may be one.
constexpr std::uint64_t kHeldOutSeed = 60;
constexpr std::int64_t kHeldOutOf = 8;  // one puzzle of so many is held out

// More draws than any usable settings need.
constexpr std::int64_t kMostDraws = 100'000;

// What is drawn for a puzzle; each has its own position of the random point. Numbers take positions from kNumbers on.
enum Position : std::int64_t { kTarget = 0, kDemonstration = 1, kNumbers = 2 };

drift::RandomPoint point_of_item(std::int64_t index) {
  return {.step = index & 0xFFFFFFFF, .sample = index >> 32};  // a field holds 32 bits
}

drift::RandomPoint at(drift::RandomPoint point, std::int64_t position) {
  point.position = position;
  return point;
}

std::string joined(const std::vector<std::int64_t>& numbers, const char* separator) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

// The same for puzzles that differ only in the order of their numbers.
std::string key_of(Puzzle puzzle) {
  std::sort(puzzle.numbers.begin(), puzzle.numbers.end());
  return joined(puzzle.numbers, ",") + "=" + std::to_string(puzzle.target);
}

bool is_held_out(const Puzzle& puzzle) {
  static const drift::RandomStream split(kHeldOutSeed, "countdown split");
  return split.child(key_of(puzzle)).below(kHeldOutOf, {}) == 0;
}

void render(const Puzzle& puzzle, drift::TaskItem& item) {
  const std::string target = std::to_string(puzzle.target);
  item.id = joined(puzzle.numbers, ",") + "=" + target;
  item.prompt = "<|startoftext|>" + item.id + "<|sep|>";
  item.reference = R"({"numbers": [)" + joined(puzzle.numbers, ", ") + R"(], "target": )" + target + "}";
  item.demonstration.clear();
}

}  // namespace

drift::ParamSpecs CountdownTask::parameters() {
  using drift::between;
  return {{"count", 3, "numbers of a puzzle", between(2, kMostNumbers)},
          {"number_low", 1, "smallest number", between(1, 1000)},
          {"number_high", 100, "largest number", between(1, 1000)},
          {"target_low", 1, "smallest target", between(1, 1000000)},
          {"target_high", 100, "largest target", between(1, 1000000)},
          {"sorted", false, "the largest number comes first; easier for small models"},
          {"operators", "+-*/", "operators that a puzzle may need, of + - * /"},
          {"correct_sums", 0.6, "share of correct demonstrations where + and - suffice", between(0, 1)},
          {"correct_products", 0.3, "share of correct demonstrations where * or / is needed", between(0, 1)},
          {"held_out_size", 400, "number of held-out puzzles", between(1, 10000)}};
}

CountdownTask::CountdownTask(const drift::Params& params)
    : count_(static_cast<std::size_t>(params.get<std::int64_t>("count"))),
      number_low_(params.get<std::int64_t>("number_low")),
      number_high_(params.get<std::int64_t>("number_high")),
      target_low_(params.get<std::int64_t>("target_low")),
      target_high_(params.get<std::int64_t>("target_high")),
      sorted_(params.get<bool>("sorted")),
      operators_(params.get<std::string>("operators")),
      correct_sums_(params.get<double>("correct_sums")),
      correct_products_(params.get<double>("correct_products")) {
  check_ranges();
  held_out_ = draw_held_out(static_cast<std::size_t>(params.get<std::int64_t>("held_out_size")));
  draw_solvable(drift::RandomStream(kHeldOutSeed, "countdown training puzzles"), {}, false);  // there are some
}

void CountdownTask::check_ranges() const {
  const auto check = [](const std::string& what, std::int64_t low, std::int64_t high) {
    if (low <= high) return;
    throw drift::Error("task `countdown`: " + what + "_low = " + std::to_string(low) + " is more than " + what +
                           "_high = " + std::to_string(high),
                       "set both, the smaller one as " + what + "_low");
  };
  check("number", number_low_, number_high_);
  check("target", target_low_, target_high_);
  const std::set<char> different(operators_.begin(), operators_.end());
  const bool known = operators_.find_first_not_of("+-*/") == std::string::npos;
  if (operators_.empty() || !known || different.size() != operators_.size()) {
    throw drift::Error("task `countdown`: operators = \"" + operators_ + "\" is not a choice of + - * /",
                       "for example operators = \"+-*\"");
  }
}

void CountdownTask::training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const {
  const Solved solved = draw_solvable(random, point_of_item(index), false);
  render(solved.puzzle, item);
  item.demonstration = demonstration(solved, random.uniform(at(point_of_item(index), kDemonstration)));
}

void CountdownTask::held_out_item(std::int64_t index, drift::TaskItem& item) const {
  if (index < 0 || index >= held_out_size()) {
    throw drift::Error("task `countdown` has no held-out item " + std::to_string(index) + ", only " +
                       std::to_string(held_out_size()) + " from 0 on");
  }
  render(held_out_[static_cast<std::size_t>(index)], item);
}

Puzzle CountdownTask::draw(const drift::RandomStream& random, drift::RandomPoint point) const {
  Puzzle puzzle;
  puzzle.target = target_low_ + random.below(target_high_ - target_low_ + 1, at(point, kTarget));
  for (std::size_t i = 0; i < count_; ++i) {
    const auto position = kNumbers + static_cast<std::int64_t>(i);
    puzzle.numbers.push_back(number_low_ + random.below(number_high_ - number_low_ + 1, at(point, position)));
  }
  if (sorted_) std::sort(puzzle.numbers.rbegin(), puzzle.numbers.rend());
  return puzzle;
}

// A puzzle that cannot be used is thrown away whole and drawn again.
CountdownTask::Solved CountdownTask::draw_solvable(const drift::RandomStream& random, drift::RandomPoint point,
                                                   bool held_out) const {
  for (point.draw = 0; point.draw < kMostDraws; ++point.draw) {
    const Puzzle puzzle = draw(random, point);
    if (is_held_out(puzzle) != held_out) continue;
    if (auto solution = simplest_solution(puzzle.numbers, puzzle.target, operators_)) return {puzzle, *solution};
  }
  throw drift::Error("task `countdown`: " + std::to_string(kMostDraws) + " random puzzles of " +
                         std::to_string(count_) + " numbers from " + std::to_string(number_low_) + " to " +
                         std::to_string(number_high_) + " with targets from " + std::to_string(target_low_) + " to " +
                         std::to_string(target_high_) + " hold none that can be used",
                     "widen the ranges, or allow more operators");
}

std::vector<Puzzle> CountdownTask::draw_held_out(std::size_t size) const {
  const drift::RandomStream random(kHeldOutSeed, "countdown held-out puzzles");
  const std::int64_t most_items = 20 * static_cast<std::int64_t>(size) + 1000;
  std::vector<Puzzle> puzzles;
  std::set<std::string> seen;
  for (std::int64_t index = 0; puzzles.size() < size && index < most_items; ++index) {
    Puzzle puzzle = draw_solvable(random, point_of_item(index), true).puzzle;
    if (seen.insert(key_of(puzzle)).second) puzzles.push_back(std::move(puzzle));
  }
  if (puzzles.size() < size) {
    throw drift::Error("task `countdown`: these settings give only " + std::to_string(puzzles.size()) +
                           " different held-out puzzles, not " + std::to_string(size),
                       "lower held_out_size, or widen the ranges of numbers and targets");
  }
  return puzzles;
}

// The careless answer adds the numbers up as they come, blind to the target.
std::string CountdownTask::demonstration(const Solved& solved, double chance) const {
  const double correct = solved.solution.only_sums ? correct_sums_ : correct_products_;
  return chance < correct ? solved.solution.text : joined(solved.puzzle.numbers, "+");
}

}  // namespace countdown
