#include "drawn_items.h"
#include "problem.h"

#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/task.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace drift::word_problems {
namespace {

constexpr std::int64_t kHeldOutOf = 8;  // one problem of so many is held out

// What is drawn for a problem; each has its own position of the random point. Step i takes kPerStep positions from
// kSteps + i kPerStep on.
enum Position : std::int64_t { kCount = 0, kFirst = 1, kSteps = 2 };
enum PositionInStep : std::int64_t {
  kReference,
  kFarReference,
  kOperation,
  kOperand,
  kCarrySlip,
  kReferenceSlip,
  kPerStep
};

using tasks::at;
using tasks::point_of_item;

RandomPoint at_step(RandomPoint point, std::size_t step, PositionInStep position) {
  return at(point, kSteps + static_cast<std::int64_t>(step) * kPerStep + position);
}

/// Operands for which a step from `value` stays in the range; none if high < low.
struct Operands {
  Operation operation;
  std::int64_t low, high;
};

std::vector<Operands> possible_operands(std::int64_t value) {
  std::vector<Operands> all = {{Operation::kMore, kLeast, kMost - value},
                               {Operation::kFewer, kLeast, value - kLeast},
                               {Operation::kTimes, 2, std::min<std::int64_t>(kMost / value, 9)}};
  all.erase(std::remove_if(all.begin(), all.end(), [](const Operands& each) { return each.high < each.low; }),
            all.end());
  return all;
}

struct Settings {
  explicit Settings(Parameters& parameters)
      : steps_low(parameters("steps_low", 4, "fewest steps of a problem", between(1, kMostSteps))),
        steps_high(parameters("steps_high", 5, "most steps of a problem", between(1, kMostSteps))),
        forgotten_carries(parameters(
            "forgotten_carries", std::vector<double>{0.6, 0.75, 0.9},
            "shares of the carries that demonstrations forget: in sums, in differences, in products", between(0, 1))),
        mistaken_references(parameters(
            "mistaken_references", 0.4,
            "share of the steps from an earlier person that demonstrations take from the latest one", between(0, 1))),
        held_out_size(parameters("held_out_size", 400, "number of held-out problems", between(1, 10000))) {}

  std::int64_t steps_low, steps_high;
  std::vector<double> forgotten_carries;  ///< by Operation
  double mistaken_references;
  std::int64_t held_out_size;
};

/// Chains of small sums in words. A problem is held out or not by its numbers and references, by a hash of them.
class WordProblems final : public Task {
 public:
  explicit WordProblems(const Parameters& params);

  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, TaskItem& item) const override;

 private:
  Problem draw(const RandomStream& random, const RandomPoint& point) const;
  Problem draw_side(const RandomStream& random, RandomPoint& point, bool held_out) const;
  std::vector<Problem> draw_held_out() const;
  std::string demonstration(const Problem& problem, const RandomStream& random, const RandomPoint& point) const;

  Settings settings_;
  std::vector<Problem> held_out_;
};

WordProblems::WordProblems(const Parameters& params) : settings_(tasks::given<Settings>(params)) {
  tasks::require_range("steps", settings_.steps_low, settings_.steps_high);
  if (settings_.forgotten_carries.size() != 3) {
    throw Error("forgotten_carries has " + std::to_string(settings_.forgotten_carries.size()) + " shares, not 3",
                "one each for sums, differences and products, such as forgotten_carries = [0.6, 0.75, 0.9]");
  }
  held_out_ = draw_held_out();
}

// Half of the steps start from the latest person, the others from any before.
Problem WordProblems::draw(const RandomStream& random, const RandomPoint& point) const {
  const auto [low, high] = std::tie(settings_.steps_low, settings_.steps_high);
  const auto count = static_cast<std::size_t>(low + random.below(high - low + 1, at(point, kCount)));
  Problem problem;
  problem.first = kLeast + random.below(kMost - kLeast + 1, at(point, kFirst));
  std::vector<std::int64_t> values = {problem.first};
  for (std::size_t i = 0; i < count; ++i) {
    Step step;
    const bool is_latest = i == 0 || random.below(2, at_step(point, i, kReference)) == 0;
    const auto earlier = [&] { return random.below(static_cast<std::int64_t>(i), at_step(point, i, kFarReference)); };
    step.reference = is_latest ? i : static_cast<std::size_t>(earlier());
    const auto possible = possible_operands(values[step.reference]);
    const auto chosen = random.below(static_cast<std::int64_t>(possible.size()), at_step(point, i, kOperation));
    const auto& [operation, low, high] = possible[static_cast<std::size_t>(chosen)];
    step.operation = operation;
    step.operand = low + random.below(high - low + 1, at_step(point, i, kOperand));
    problem.steps.push_back(step);
    values.push_back(result_of(step, values[step.reference]));
  }
  return problem;
}

bool is_held_out(const Problem& problem) {
  static const RandomStream split(tasks::kHeldOutSeed, "word problems split");
  return split.child(name_of(problem)).below(kHeldOutOf, {}) == 0;
}

// A problem of the other side is thrown away whole and drawn again. `point` is left at the draw that was used.
Problem WordProblems::draw_side(const RandomStream& random, RandomPoint& point, bool held_out) const {
  for (point.draw = 0; point.draw < tasks::kMostDraws; ++point.draw) {
    Problem problem = draw(random, point);
    if (is_held_out(problem) == held_out) return problem;
  }
  throw Error("no word problem was found in " + std::to_string(tasks::kMostDraws) + " draws");
}

std::vector<Problem> WordProblems::draw_held_out() const {
  const RandomStream random(tasks::kHeldOutSeed, "word problems held-out problems");
  const auto draw = [&](std::int64_t index) {
    RandomPoint point = point_of_item(index);
    return std::optional(draw_side(random, point, true));
  };
  return tasks::draw_different<Problem>(settings_.held_out_size, 20 * settings_.held_out_size + 1000, draw, name_of,
                                        "these settings give", "held-out problems",
                                        "lower held_out_size, or raise steps_high");
}

// A slip is left out where it would lead to a number without two digits.
std::string WordProblems::demonstration(const Problem& problem, const RandomStream& random,
                                        const RandomPoint& point) const {
  std::vector<Slip> slips(problem.steps.size());
  for (std::size_t i = 0; i < slips.size(); ++i) {
    slips[i].mistakes_reference = random.uniform(at_step(point, i, kReferenceSlip)) < settings_.mistaken_references;
    if (!worked_solution(problem, slips)) slips[i].mistakes_reference = false;
    const auto operation = static_cast<std::size_t>(problem.steps[i].operation);
    const double forgotten = settings_.forgotten_carries[operation];
    slips[i].forgets_carry = random.uniform(at_step(point, i, kCarrySlip)) < forgotten;
    if (!worked_solution(problem, slips)) slips[i].forgets_carry = false;
  }
  return *worked_solution(problem, slips);
}

void render(const Problem& problem, TaskItem& item) {
  item.id = name_of(problem);
  item.prompt = prompt_of(problem);
  item.reference = std::to_string(values_of(problem).back());
  item.demonstration.clear();
}

void WordProblems::training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const {
  RandomPoint point = point_of_item(index);
  const Problem problem = draw_side(random, point, false);
  render(problem, item);
  item.demonstration = demonstration(problem, random, point);
}

void WordProblems::held_out_item(std::int64_t index, TaskItem& item) const {
  render(tasks::held_out_at(held_out_, index), item);
}

}  // namespace
}  // namespace drift::word_problems

DRIFT_PLUGIN("word_problems", "1.0.0", "Apache-2.0") {
  using drift::word_problems::Settings;
  using drift::word_problems::WordProblems;
  registry.add<WordProblems>("word_problems", "Chains of small sums in words, solved in writing; one in 8 held out.",
                             drift::tasks::declared<Settings>());
}
