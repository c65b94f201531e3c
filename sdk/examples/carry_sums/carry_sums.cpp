// Sums of two numbers, made from a seed: "12+7=", "19".
#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/task.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

// The held-out sums are the same in every run, whatever its seed.
constexpr std::uint64_t kHeldOutSeed = 12;
constexpr std::int64_t kHeldOutOf = 10;  // one pair of so many is held out

/// A pair is held out or not by a hash of its numbers in either order, so that no held-out sum is ever trained on.
bool is_held_out(Pair pair) {
  const auto [small, large] = std::minmax(pair.first, pair.second);
  return drift::RandomStream(kHeldOutSeed, "sums held out").below(kHeldOutOf, {small, large, 0, 0}) == 0;
}

/// The sum of someone who forgets every carry.
std::int64_t careless_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  for (std::int64_t place = 1; a > 0 || b > 0; place *= 10, a /= 10, b /= 10) sum += place * ((a % 10 + b % 10) % 10);
  return sum;
}

class CarrySums final : public drift::Task {
 public:
  static std::vector<drift::Parameter> parameters() {
    return {{"number_high", 99, "largest number; the smallest is 0", drift::between(9, 999)},
            {"correct", 0.7, "share of correct demonstrations; the others forget to carry", drift::between(0, 1)},
            {"held_out_size", 200, "number of held-out sums, at most", drift::between(1, 10000)},
            {"opening", "<|startoftext|>", "special tokens before the sum"},
            {"closing", "<|sep|>", "special tokens behind it"}};
  }

  explicit CarrySums(const drift::Parameters& params)
      : number_high_(params.get<std::int64_t>("number_high")),
        correct_(params.get<double>("correct")),
        opening_(params.get<std::string>("opening")),
        closing_(params.get<std::string>("closing")) {
    for (std::int64_t a = 0; a <= number_high_; ++a) {
      for (std::int64_t b = 0; b <= number_high_; ++b) {
        if (is_held_out({a, b})) held_out_.emplace_back(a, b);
      }
    }
    // In a random order: the first ones of a short evaluation are not the smallest.
    const drift::RandomStream random(kHeldOutSeed, "sums order");
    std::ranges::sort(held_out_, {}, [&](const Pair& pair) { return random.bits({pair.first, pair.second, 0, 0}); });
    const auto size = static_cast<std::size_t>(params.get<std::int64_t>("held_out_size"));
    held_out_.resize(std::min(held_out_.size(), size));
    if (held_out_.empty()) throw drift::Error("no sum is held out", "raise number_high");
  }

  /// Of `random` and `index` alone: any thread may ask for any item, in any order.
  void training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const override {
    // A field of a point holds 32 bits.
    drift::RandomPoint point{.step = index & 0xFFFFFFFF, .response = index >> 32};
    Pair pair;
    do {
      pair.first = random.child("first").below(number_high_ + 1, point);
      pair.second = random.child("second").below(number_high_ + 1, point);
      ++point.draw;
    } while (is_held_out(pair));
    fill(pair, item);
    const bool is_correct = random.child("demonstration").uniform({index & 0xFFFFFFFF, index >> 32}) < correct_;
    item.demonstration = is_correct ? item.reference : std::to_string(careless_sum(pair.first, pair.second));
  }

  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }

  void held_out_item(std::int64_t index, drift::TaskItem& item) const override {
    fill(held_out_.at(static_cast<std::size_t>(index)), item);
  }

 private:
  /// The id names the problem, not its place in a run.
  void fill(Pair pair, drift::TaskItem& item) const {
    item.id = std::to_string(pair.first) + "+" + std::to_string(pair.second);
    item.prompt = opening_ + item.id + "=" + closing_;
    item.reference = std::to_string(pair.first + pair.second);
  }

  std::int64_t number_high_;
  double correct_;
  std::string opening_, closing_;
  std::vector<Pair> held_out_;
};

}  // namespace

DRIFT_PLUGIN("carry_sums", "1.0.0", "Apache-2.0") {
  registry.add<CarrySums>("carry_sums", "Sums of two numbers, with correct and careless demonstrations.",
                          CarrySums::parameters());
}
