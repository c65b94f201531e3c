#pragma once

#include <drift/registry.h>

void register_algorithm(drift::Registry& registry);
void register_backbone(drift::Registry& registry);
void register_rollout(drift::Registry& registry);
void register_reverse(drift::Registry& registry);
