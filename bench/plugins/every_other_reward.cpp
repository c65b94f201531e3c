// A reward for measurements: every other response is right, so that there is something to learn whatever a model of
// random weights writes.

#include <drift/plugin.h>
#include <drift/reward.h>

#include <atomic>

namespace {

class EveryOther final : public drift::Reward {
 public:
  explicit EveryOther(const drift::Params&) {}

  void score(const drift::RewardRequest&, drift::RewardResult& result) const override {
    result.solved = count_++ % 2 == 0;
    result.value = result.solved ? 1 : 0;
    result.status = result.solved ? drift::RewardStatus::kOk : drift::RewardStatus::kWrong;
    result.reason = "its turn";
  }

 private:
  mutable std::atomic<int> count_ = 0;
};

}  // namespace

DRIFT_PLUGIN("every_other", "0.1.0", "Apache-2.0") {
  registry.add<EveryOther>("every_other", "Every other response is right: for measurements.");
}
