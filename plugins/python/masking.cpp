#include "components.h"
#include "script.h"

#include <drift/masking_strategy.h>

#include <core/python/structures.h>
#include <core/python/tensors.h>

namespace drift::python {
namespace {

class PythonMasking final : public MaskingStrategy {
 public:
  explicit PythonMasking(const ComponentContext& context) : script_(kKind, context) {}

  PlanRefresh refresh() const override { return static_cast<PlanRefresh>(script_.facts()[0]); }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Gil gil;
    const Object rest =
        tuple({integer(input.inner_iteration), integer(input.end_id), integer(input.pad_id), wrapped(input.end_ids_E)});
    const Object made = call("plan", {script_.object(), fields_of(*input.trajectories), bits(input.random.key()),
                                      integer(input.step), wrapped(input.response_number_B), rest});
    plan = plan_in(made);
  }

 private:
  Script script_;
};

}  // namespace

std::unique_ptr<Component> make_masking(const ComponentContext& context) {
  return std::make_unique<PythonMasking>(context);
}

}  // namespace drift::python
