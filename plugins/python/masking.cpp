#include "components.h"
#include "script.h"
#include "tensors.h"

#include <drift/masking_strategy.h>

namespace drift::python {
namespace {

Object trajectories_of(const Trajectories& responses) {
  return dictionary({{"prompt_tokens_BP", wrapped(responses.prompts.tokens_BP)},
                     {"prompt_mask_BP", wrapped(responses.prompts.mask_BP)},
                     {"group_B", wrapped(responses.prompts.group_B)},
                     {"tokens_BL", wrapped(responses.tokens_BL)},
                     {"valid_BL", wrapped(responses.valid_BL)},
                     {"step_BL", wrapped(responses.step_BL)},
                     {"commit_logprob_BL", wrapped(responses.commit_logprob_BL)},
                     {"forwards_B", wrapped(responses.forwards_B)}});
}

class PythonMasking final : public MaskingStrategy {
 public:
  explicit PythonMasking(const ComponentContext& context) : script_(kKind, context) {}

  PlanRefresh refresh() const override { return static_cast<PlanRefresh>(script_.facts()[0]); }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Gil gil;
    const Object rest =
        tuple({integer(input.inner_iteration), integer(input.end_id), integer(input.pad_id), wrapped(input.end_ids_E)});
    const Object made = call("plan", {script_.object(), trajectories_of(*input.trajectories), bits(input.random.key()),
                                      integer(input.step), wrapped(input.response_number_B), rest});
    const Object tensors = made[0];  // in the order of PLAN in drift/_host.py
    std::int64_t next = 0;
    for (at::Tensor* tensor : {&plan.response_F, &plan.term_F, &plan.masked_FL, &plan.target_FL, &plan.committed_FL,
                               &plan.weight_F, &plan.prompt_masked_FP, &plan.attended_FL})
      *tensor = unwrapped(tensors[next++]);
    plan.terms = made[1].integer();
  }

 private:
  Script script_;
};

}  // namespace

std::unique_ptr<Component> make_masking(const ComponentContext& context) {
  return std::make_unique<PythonMasking>(context);
}

}  // namespace drift::python
