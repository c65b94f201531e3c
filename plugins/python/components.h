#pragma once

// The components of each kind that a Python file can hold. @throws Error

#include <drift/registry.h>

#include <memory>

namespace drift::python {

std::unique_ptr<Component> make_loss(const ComponentContext& context);
std::unique_ptr<Component> make_masking(const ComponentContext& context);
std::unique_ptr<Component> make_reward(const ComponentContext& context);
std::unique_ptr<Component> make_task(const ComponentContext& context);

}  // namespace drift::python
