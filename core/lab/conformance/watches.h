#pragma once

// What calls of a component must leave alone: the process's random numbers, its memory, files and threads.

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace drift {

/// @throws Error if body() drew from LibTorch's generator or from rand().
void without_global_random(const std::function<void()>& body);

/// One call a thousand times, or as often as thirty seconds allow.
/// @return "1000 calls, 41 us each"
/// @throws Error if memory, open files or threads grow with the calls.
std::string without_leak(const std::function<void()>& call);

/// "41 us", "1.2 ms", "3.0 s"
std::string duration_text(double seconds);

/// The same bytes, type and shape; both undefined: also.
bool same_bits(const at::Tensor& a, const at::Tensor& b);

/// The largest difference of two tensors of one shape, in units of the larger of 1 and the largest value of `b`.
double largest_difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace drift
