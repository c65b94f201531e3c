#pragma once

#include "exact_value.h"
#include "tree.h"
#include "work.h"

namespace math_reward {

enum class Outcome {
  kValue,
  kUndefined,  ///< divides by zero, or is no number at all
  kTooLarge,   ///< beyond the limits: not computed
  kOther,      ///< has a value, but none that this way of evaluating can express
};

/// The exact value of an expression without variables, if it is a sum of rational multiples of square roots, powers of
/// pi, and i. `out` is set only for kValue.
Outcome evaluate_exactly(const Tree& tree, Place at, Work& work, ExactValue& out);

}  // namespace math_reward
