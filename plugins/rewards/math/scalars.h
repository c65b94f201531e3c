#pragma once

#include <optional>

#include "equivalence.h"
#include "tree.h"
#include "work.h"

namespace math_reward {

/// How a comparison of two expressions ended. `how` is for people: "as rational numbers".
struct Verdict {
  bool equal = false;
  const char* how = "";
};

/// Whether two expressions have the same value: by exact arithmetic where it decides, otherwise by bounds of up to
/// 1,024 bits, and with variables at pseudo-random points.
Verdict compare_scalars(const Tree& tree, Place truth, Place prediction, const EquivalenceOptions& options, Work& work);

/// The sign of a - b for real numbers; nothing if they are not real, or cannot be told apart and are not equal.
std::optional<int> order(const Tree& tree, Place a, Place b, Work& work);

}  // namespace math_reward
