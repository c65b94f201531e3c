#pragma once

#include <drift/error.h>

#include <ATen/core/Tensor.h>

#include <string>

namespace drift {

/// "int64 [4, 16] on cpu", "undefined"
std::string tensor_words(const at::Tensor& tensor);

/// "int64", "float32"
std::string type_words(at::ScalarType type);

/// @throws Error "`NAME` must be int64 [4, 16], not float32 [4, 16]" with this hint.
void require_tensor(const char* name, const at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes,
                    at::Device device, const char* hint);

/// A tensor of the CPU that may be undefined; else as require_tensor(), and made contiguous.
void require_if_defined(const char* name, at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes,
                        const char* hint);

}  // namespace drift
