#pragma once

// Two ways to evaluate an expression: exactly, and within bounds.

#include "answer_limits.h"
#include "exact_value.h"
#include "tree.h"

#include <acb.h>

#include <cstdint>

namespace math_answers {

enum class Outcome {
  kValue,
  kUndefined,  ///< divides by zero, or is no number at all
  kTooLarge,   ///< beyond the limits: not computed
  kOther,      ///< has a value, but none that this way of evaluating can express
};

/// The exact value of an expression without variables, if it is a sum of rational multiples of square roots, powers of
/// pi, and i. `out` is set only for kValue.
Outcome evaluate_exactly(const Tree& tree, Place at, Work& work, ExactValue& out);

/// A complex number within known bounds: two real balls.
class Ball {
 public:
  Ball() { acb_init(value_); }
  Ball(const Ball&) = delete;
  Ball& operator=(const Ball&) = delete;
  ~Ball() { acb_clear(value_); }

  acb_struct* get() { return value_; }
  const acb_struct* get() const { return value_; }
  arb_struct* real() { return acb_realref(value_); }
  const arb_struct* real() const { return acb_realref(value_); }
  bool is_real() const { return arb_is_zero(acb_imagref(value_)) != 0; }

 private:
  acb_t value_;
};

/// An upper bound of an absolute value.
class Magnitude {
 public:
  Magnitude() { mag_init(value_); }
  Magnitude(const Magnitude&) = delete;
  Magnitude& operator=(const Magnitude&) = delete;
  ~Magnitude() { mag_clear(value_); }
  mag_struct* get() { return value_; }
  const mag_struct* get() const { return value_; }

 private:
  mag_t value_;
};

/// Where variables are replaced by numbers: each variable has a pseudo-random one for each point, from 0.1 to 3, or its
/// opposite, times 2^stretch.
struct SamplePoint {
  unsigned number = 0;
  bool negative = false;
  slong stretch = 0;
  bool real = false;  ///< a root of a negative number is undefined, also on the way to a real value
};

/// Bounds of an expression's value at a point. `scale` grows to the largest absolute value on the way: how precise the
/// result can be is relative to it. kUndefined also where the bounds are too wide to tell.
Outcome evaluate_ball(const Tree& tree, Place at, SamplePoint point, slong precision, Work& work, Ball& out,
                      Magnitude& scale);

/// 2^bits * scale >= |value|.
bool within(const Ball& value, const Magnitude& scale, slong bits);

}  // namespace math_answers
