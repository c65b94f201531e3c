#pragma once

#include "tree.h"

#include <array>
#include <optional>

namespace math_answers {

/// c0 + c1 x + c2 x^2 + factor |inside|, where the inside is linear in x. Coefficients are expressions without x; kNone
/// is zero. What is added to the tree are sums and products of what stands in it.
struct Polynomial {
  std::array<Place, 3> coefficients = {kNone, kNone, kNone};
  Place factor = kNone;  ///< of the absolute value; kNone: there is none
  std::array<Place, 2> inside = {kNone, kNone};

  int degree() const { return coefficients[2] != kNone ? 2 : coefficients[1] != kNone ? 1 : 0; }
};

/// The only variable in an expression or relation; kNone if there is none, or more than one.
Place only_variable(const Tree& tree, Place at);

/// `left` - `right` as a polynomial in its only variable. Nothing for what is none of this form.
std::optional<Polynomial> difference_polynomial(Tree& tree, Place left, Place right);

}  // namespace math_answers
