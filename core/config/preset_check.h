#pragma once

#include <core/config/diagnostic.h>
#include <core/config/document.h>

#include <drift/registry.h>

#include <vector>

namespace drift {

/// What is wrong with a preset, found by the rules of resolve_config: its file, its keys and its values. Parameters of
/// a component are compared where the registry has that component.
/// @param run  more of a run's TOML, to name the components that the preset meets: `rollout.name`, …
std::vector<Diagnostic> preset_mistakes(const Algorithm& algorithm, const AlgorithmPreset& preset,
                                        const Registry& registry, const std::vector<ConfigOverride>& run = {});

}  // namespace drift
