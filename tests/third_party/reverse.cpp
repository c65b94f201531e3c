// "1423=" is to be answered by "3241".
#include "lab.h"

#include <drift/reward.h>
#include <drift/task.h>

#include <algorithm>
#include <string>

namespace {

constexpr std::int64_t kDigits = 3, kHeldOut = 40;

std::string digits(std::int64_t number) {
  std::string text(kDigits, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number /= 10)
    *digit = static_cast<char>('0' + number % 10);
  return text;
}

/// Numbers below kHeldOut * 5 that end with 0 or 5 are held out.
class Reverse final : public drift::Task {
 public:
  explicit Reverse(const drift::Params&) {}

  void training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const override {
    drift::RandomPoint point{.step = index & 0xFFFFFFFF, .response = index >> 32};
    std::int64_t number = 0;
    do {
      number = random.below(1000, point);
      ++point.draw;
    } while (number % 5 == 0 && number < 5 * kHeldOut);
    fill(number, item);
  }
  std::int64_t held_out_size() const override { return kHeldOut; }
  void held_out_item(std::int64_t index, drift::TaskItem& item) const override { fill(5 * index, item); }

 private:
  static void fill(std::int64_t number, drift::TaskItem& item) {
    item.id = digits(number);
    item.prompt = "<|startoftext|>" + item.id + "=<|sep|>";
    item.reference = {item.id.rbegin(), item.id.rend()};
    item.demonstration = item.reference;
  }
};

/// The share of digits that are right.
class SharedDigits final : public drift::Reward {
 public:
  explicit SharedDigits(drift::Parameters&) {}

  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override {
    const std::string& wanted = request.item->reference;
    std::size_t right = 0;
    for (std::size_t i = 0; i < std::min(wanted.size(), request.response.size()); ++i)
      right += wanted[i] == request.response[i] ? 1 : 0;
    result.solved = request.response == wanted;
    result.value = wanted.empty() ? 0 : static_cast<double>(right) / static_cast<double>(wanted.size());
    result.status = result.solved ? drift::RewardStatus::kOk : drift::RewardStatus::kWrong;
    result.reason = std::to_string(right) + " digits are right";
  }
};

}  // namespace

void register_reverse(drift::Registry& registry) {
  registry.add<Reverse>("reverse", "Three digits, to be written in reverse.");
  registry.add<SharedDigits>("reverse", "The share of characters that equal the reference's.");
}
