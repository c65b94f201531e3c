#pragma once

#include <drift/pure.h>
#include <drift/registry.h>

namespace drift {

/// Registers what a plugin over plain arrays brings (DriftPureEntry::register_components).
/// @throws Error if it reports one, or registers what is not complete.
void register_pure(Registry& registry, void (*register_components)(const DriftRegistry* registry));

}  // namespace drift
