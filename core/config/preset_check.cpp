#include <core/config/preset_check.h>

#include <core/config/run_config.h>

#include <algorithm>

namespace drift {

std::vector<Diagnostic> preset_mistakes(const Algorithm& algorithm, const AlgorithmPreset& preset,
                                        const Registry& registry, const std::vector<ConfigOverride>& run) {
  std::vector<ConfigOverride> settings = run;
  settings.push_back({"algorithm " + algorithm.name, "algorithm.name", algorithm.name, /*literal=*/true});
  settings.push_back({"preset " + preset.name, "algorithm.preset", preset.name, /*literal=*/true});
  std::vector<Diagnostic> mistakes;
  try {
    resolve_config(load_document({}, settings), registry, ConfigPurpose::kTrain);
  } catch (const ConfigError& error) {
    mistakes = error.diagnostics();
  }
  // Such a run lacks more, a model or a task. That is not the preset's mistake.
  std::erase_if(mistakes, [&](const Diagnostic& mistake) {
    return std::ranges::count(algorithm.presets, mistake.file, &AlgorithmPreset::origin) == 0;
  });
  return mistakes;
}

}  // namespace drift
