#include "components.h"
#include "script.h"

#include <drift/loss_estimator.h>

#include <core/python/structures.h>
#include <core/python/tensors.h>

namespace drift::python {
namespace {

Object inputs_of(const LossInput& in) {
  return dictionary({{"current_FL", wrapped(in.log_probs.current_FL)},
                     {"old_FL", wrapped(in.log_probs.old_FL)},
                     {"reference_FL", wrapped(in.log_probs.reference_FL)},
                     {"entropy_FL", wrapped(in.log_probs.entropy_FL)},
                     {"reference_entropy_FL", wrapped(in.log_probs.reference_entropy_FL)},
                     {"advantage_B", wrapped(in.advantage_B)},
                     {"valid_BL", wrapped(in.valid_BL)},
                     {"scored_B", wrapped(in.scored_B)},
                     {"advantage_BL", wrapped(in.advantage_BL)}});
}

Object totals_of(const BatchTotals& totals) {
  return tuple({integer(totals.responses), integer(totals.group_size), integer(totals.terms), integer(totals.targets),
                integer(totals.optimizer_steps), integer(totals.views)});
}

class PythonLoss final : public LossEstimator {
 public:
  explicit PythonLoss(const ComponentContext& context) : script_(kKind, context) {}

  Coupling coupling() const override { return static_cast<Coupling>(script_.facts()[0]); }

  void needs(LossNeeds& needs) const override {
    needs.old = script_.facts()[1] != 0;
    needs.reference = script_.facts()[2] != 0;
    needs.entropy = script_.facts()[3] != 0;
  }

  Loss evaluate(const LossInput& in) const override {
    const Gil gil;
    const Object result = call("evaluate", {script_.object(), fields_of(in.plan), inputs_of(in), totals_of(in.totals)});
    Loss loss;
    loss.value = unwrapped(result[0]);
    for (const Object& metric : result[1].items())
      loss.add_ratio(metric[0].text(), unwrapped(metric[1]), unwrapped(metric[2]));
    return loss;
  }

 private:
  Script script_;
};

}  // namespace

std::unique_ptr<Component> make_loss(const ComponentContext& context) { return std::make_unique<PythonLoss>(context); }

}  // namespace drift::python
