#include "components.h"
#include "script.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("python", "1.0.0", "Apache-2.0") {
  using drift::ComponentKind;
  using drift::Parameters;
  const auto add = [&](ComponentKind kind, const char* doc, drift::ComponentFactory create) {
    registry.add(kind, "python", doc, drift::python::file_parameter(), std::move(create),
                 [kind](const Parameters& params) { return drift::python::read_declaration(kind, params); });
  };
  add(ComponentKind::kLossEstimator, "A loss from a Python file.", drift::python::make_loss);
  add(ComponentKind::kMaskingStrategy, "A masking strategy from a Python file.", drift::python::make_masking);
  add(ComponentKind::kReward, "A reward from a Python file.", drift::python::make_reward);
  add(ComponentKind::kTask, "A task from a Python file.", drift::python::make_task);
}
