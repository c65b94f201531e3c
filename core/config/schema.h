#pragma once

#include <drift/component.h>
#include <drift/params.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// What the configuration is resolved for: it decides which sections must be complete. Sections that are not needed are
/// still checked where the files have them.
enum class ConfigPurpose { kTrain, kPretrain, kEval, kGenerate, kModelOnly, kJudge, kData };

/// What a value decides of a run.
enum class KeyRole {
  kTraining,     ///< what training computes
  kMeasurement,  ///< no weight, but what is measured, when, on how much, and what a step costs
  kBookkeeping,  ///< no number: names, places, which checkpoints are kept
};

/// Runs, checkpoints and responses are known again by the values that decide them (core/sweep/identity.h).
struct KeyEffect {
  KeyRole role = KeyRole::kTraining;
  bool on_responses = false;  ///< also how items are answered and judged outside training
};

/// One section of a run's TOML.
struct SectionSchema {
  std::string name;             ///< "train", "algorithm.loss"
  std::string doc;              ///< one line
  KeyEffect effect;             ///< of the parameters of its component, and of the keys that `effects` does not have
  std::vector<Parameter> keys;  ///< what the core reads; a component section adds what its component declares
  std::map<std::string, KeyEffect, std::less<>> effects;
  std::optional<ComponentKind> component;  ///< the kind that the key `name` chooses from
  std::vector<ConfigPurpose> needed_for;
  bool is_family = false;  ///< there may be any number of sections [name.LABEL]

  bool needed(ConfigPurpose purpose) const;
  KeyEffect effect_of(std::string_view key) const;
};

/// Every section, in the order in which the resolved file has them.
const std::vector<SectionSchema>& config_sections();

/// The schema of a section, also of one of a family. Null if there is none.
const SectionSchema* find_section(std::string_view name);

/// Whether --set may give a run that continues another value of "train.steps": how long it trains, and how AdamW does.
bool may_change_on_resume(std::string_view key);

}  // namespace drift
