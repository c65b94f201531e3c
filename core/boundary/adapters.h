#pragma once

#include <core/config/run_config.h>
#include <core/io/adapter_files.h>

#include <drift/model.h>
#include <drift/random.h>

#include <optional>
#include <string>
#include <vector>

namespace drift {

/// Whether [adapter] asks for adapters: a saved one, or to train new ones.
bool has_adapter(const RunConfig& config);

/// Whether training leaves out some inputs of the adapters.
bool drops_inputs(const RunConfig& config);

/// The modules that `targets` name. A target is a module in full, its last words ("q_proj", "mlp.up_proj"), or such a
/// name with * for any characters.
/// @param available  those that the model can give an adapter to
/// @throws Error naming the first target that names none of them, with the nearest name.
std::vector<std::string> target_modules(const std::vector<std::string>& targets,
                                        const std::vector<std::string>& available);

/// "q_proj", "k_proj", …: what distinguishes the modules of one layer.
std::vector<std::string> last_words(const std::vector<std::string>& modules);

/// What [adapter] describes: that of adapter.path, with the dropout of the configuration; else new ones, without their
/// modules.
AdapterDescription described_adapter(const RunConfig& config);

/// The modules of this adapter on a model that can have adapters on `available`. @throws Error if it lacks some
std::vector<std::string> modules_of(const AdapterDescription& adapter, const RunConfig& config,
                                    const std::vector<std::string>& available);

/// New adapters: B is 0, so that the model computes what it does without them; A uniform in ±1 / sqrt(in), as peft has
/// it (Kaiming's uniform initialisation with a = sqrt(5)).
void initialize_adapters(const std::vector<NamedTensor>& adapter_parameters, const RandomStream& random);

/// What to tell the user if the adapters' rank is above the smaller side of some weights: beyond it more rank expresses
/// nothing more. Empty if there are no such weights.
std::string excess_rank(const std::vector<NamedTensor>& adapter_parameters);

}  // namespace drift
