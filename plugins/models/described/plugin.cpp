#include <drift/plugin.h>

#include <core/nn/described_model.h>

DRIFT_PLUGIN("described", "0.1.0", "Apache-2.0") { drift::nn::add_users_description(registry, "described"); }
