#pragma once

#include "object.h"

#include <ATen/core/Tensor.h>

namespace drift::python {

/// The same tensor as a `torch.Tensor`, without a copy, autograd included; None for an undefined one. Needs
/// `import torch` before.
Object wrapped(const at::Tensor& tensor);

/// The tensor of a `torch.Tensor`; undefined for None.
at::Tensor unwrapped(const Object& object);

}  // namespace drift::python
