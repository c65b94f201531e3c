#pragma once

#include <drift/abi.h>
#include <drift/export.h>
#include <drift/registry.h>

/// Makes a shared library a plugin. Use it once per library, outside every namespace; the arguments are string
/// literals, and the body sees `drift::Registry& registry`:
///
///     DRIFT_PLUGIN("soft_clip", "1.0.0", "Apache-2.0") {
///       registry.add<SoftClip>("soft_clip", "PPO with a smooth clip.");
///     }
/// The body may throw, preferably drift::Error: the host then refuses the plugin and keeps nothing of it. The licence
/// is an SPDX name.
#define DRIFT_PLUGIN(NAME, VERSION, LICENCE)                                                                     \
  static_assert(sizeof(NAME) > 1 && sizeof(VERSION) > 1 && sizeof(LICENCE) > 1,                                  \
                "a plugin has a name, a version and a licence");                                                 \
  static void drift_plugin_register(drift::Registry& registry);                                                  \
  namespace {                                                                                                    \
  __attribute__((section(DRIFT_PLUGIN_SECTION), used)) constexpr DriftPluginDescriptor drift_plugin_descriptor = \
      DRIFT_PLUGIN_DESCRIPTOR(NAME, VERSION, LICENCE);                                                           \
  }                                                                                                              \
  extern "C" DRIFT_API const DriftPluginEntry* drift_plugin_entry() {                                            \
    static constexpr DriftPluginEntry entry = {                                                                  \
        sizeof(DriftPluginEntry), 0, &drift_plugin_descriptor,                                                   \
        [](void* registry) { drift_plugin_register(*static_cast<drift::Registry*>(registry)); }};                \
    return &entry;                                                                                               \
  }                                                                                                              \
  static void drift_plugin_register([[maybe_unused]] drift::Registry& registry)
