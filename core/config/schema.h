#pragma once

#include <drift/component.h>
#include <drift/params.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// What the configuration is resolved for: it decides which sections must be complete. Sections that are not needed are
/// still checked where the files have them.
enum class ConfigPurpose { kTrain, kPretrain, kEval, kGenerate, kModelOnly, kJudge, kData };

/// One section of a run's TOML.
struct SectionSchema {
  std::string name;  ///< "train", "algorithm.loss"
  std::string doc;   ///< one line
  ParamSpecs keys;   ///< what the core reads; a component section adds what its component declares
  std::optional<ComponentKind> component;  ///< the kind that the key `name` chooses from
  std::vector<ConfigPurpose> needed_for;
  bool is_family = false;  ///< there may be any number of sections [name.LABEL]

  bool needed(ConfigPurpose purpose) const;
};

/// Every section, in the order in which the resolved file has them.
const std::vector<SectionSchema>& config_sections();

/// The schema of a section, also of one of a family. Null if there is none.
const SectionSchema* find_section(std::string_view name);

}  // namespace drift
