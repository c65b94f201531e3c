#pragma once

// Plans and trajectories as tuples of their fields, in the order of PLAN_FIELDS and of the fields of
// Trajectories in sdk/python/drift/tensors.py.

#include <core/python/object.h>

#include <drift/mask_plan.h>
#include <drift/trajectories.h>

#include <c10/core/Device.h>

namespace drift::python {

Object fields_of(const MaskPlan& plan);
MaskPlan plan_in(const Object& fields, at::Device device = at::kCPU);

Object fields_of(const Trajectories& trajectories);
Trajectories trajectories_in(const Object& fields);

}  // namespace drift::python
