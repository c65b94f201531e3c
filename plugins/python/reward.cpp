#include "components.h"
#include "script.h"

#include <drift/reward.h>

namespace drift::python {
namespace {

class PythonReward final : public Reward {
 public:
  explicit PythonReward(const ComponentContext& context) : script_(kKind, context) {}

  void score(const RewardRequest& request, RewardResult& result) const override {
    const Gil gil;
    const TaskItem& item = *request.item;
    const Object given = tuple(
        {text(item.id), text(item.prompt), text(item.reference), text(item.demonstration), text(item.response_prefix)});
    const Object verdict = call("score", {script_.object(), text(request.response), given, boolean(request.truncated)});
    result.value = verdict[0].number();
    result.solved = verdict[1].boolean();
    result.status = static_cast<RewardStatus>(verdict[2].integer());  // STATUSES of drift/texts.py has their order
    result.reason = verdict[3].text();
  }

 private:
  Script script_;
};

}  // namespace

std::unique_ptr<Component> make_reward(const ComponentContext& context) {
  return std::make_unique<PythonReward>(context);
}

}  // namespace drift::python
