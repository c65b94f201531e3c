#pragma once

// The rules of each kind of component: what the public headers promise of it, tried on made-up inputs.

#include <core/lab/conformance/examination.h>
#include <core/lab/conformance/settings.h>

#include <drift/registry.h>

#include <string>
#include <vector>

namespace drift {

/// What the kit cannot make up.
struct ExaminedWith {
  RunHost& host;                        ///< makes the component
  ParamValues values;                   ///< of parameters: paths that a component needs
  std::string model_config;             ///< the text of a config.json
  std::vector<std::string> references;  ///< TaskItem::reference of the items that a reward judges
};

void check_loss_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination);
void check_masking_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination);
void check_rollout_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination);
void check_model_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination);
void check_reward_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination);
void check_task_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination);

/// Those of the entry's kind.
void check_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination);

/// "loss/soft_clip"
std::string component_id(const ComponentEntry& entry);

}  // namespace drift
