#pragma once

#include "tree.h"

namespace math_reward {

/// The determinant of a square matrix as sums of products of its entries.
/// @throws Unreadable for a matrix that is not square or has more than 6 rows
Place determinant(Tree& tree, Place matrix);

}  // namespace math_reward
