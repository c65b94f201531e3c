#pragma once

// Every CUDA kernel against its reference on the CPU, by the same source on two machines: emulated (core/kernels/cuda/
// emulator.h), and on a GPU. Each function fails the running test where they differ.

#include <core/kernels/cuda/calls.h>

#include <c10/core/Device.h>

#include <cstdint>

namespace drift::test {

struct KernelMachine {
  const kernels::cuda::KernelTable& kernels;
  at::Device device;
  std::int64_t draws;  ///< of each setting of the sampler
  /// Of bfloat16 logits: a product may add in another order, and then rounds to a neighbour.
  double logit_tolerance;
};

/// Values and gradients, float32 and bfloat16, of shapes that no pack divides, one element, none, and misaligned
/// memory.
void compare_norms(const KernelMachine& machine);
void compare_rotations(const KernelMachine& machine);
void compare_gates(const KernelMachine& machine);

/// Scores, entropies and gradients of LinearLogSoftmax, and sums over logits that are infinite or not numbers.
void compare_head(const KernelMachine& machine);

/// Tokens, log-probabilities and confidences: vocabularies of one id to several tiles, forbidden ids, every
/// temperature, confidence and cut; ties; rows without a finite logit.
void compare_draws(const KernelMachine& machine);

/// Bit by bit.
void compare_uniforms(const KernelMachine& machine);

/// Every rule, ties, rows in which nothing is open, a score that is not a number.
void compare_commits(const KernelMachine& machine);

/// NF4 with and without codes of scales, whole blocks and parts, in memory that begins anywhere: bit by bit.
void compare_widening(const KernelMachine& machine);

/// Adapter dropout, in rows that no pack divides and memory that begins anywhere: bit by bit.
void compare_dropout(const KernelMachine& machine);

/// After several updates of more tensors than a launch holds: moments bit by bit, weights but for the CPU's roots.
void compare_adamw(const KernelMachine& machine);

}  // namespace drift::test
