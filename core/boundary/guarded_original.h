#pragma once

#include <drift/registry.h>
#include <drift/rollout.h>

#include <memory>

namespace drift {

/// A guarded rollout that may do what only some originals do: leave mask tokens, and write ids that the model forbids.
/// To compare with them; what training or a reader gets is made by make_guarded().
/// @throws PluginError if it cannot be made.
std::unique_ptr<Rollout> make_guarded_original(const ComponentEntry& entry, const Params& params);

}  // namespace drift
