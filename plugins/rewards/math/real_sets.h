#pragma once

#include <optional>
#include <vector>

#include "tree.h"
#include "work.h"

namespace math_reward {

/// A place where a set of real numbers begins or ends: just before a number or just after it; or at an infinity.
struct Cut {
  Place value = kNone;
  int infinity = 0;  ///< -1, +1, or 0 at `value`
  bool after = false;
};

/// A set of real numbers: the cuts in rising order, at which it begins, ends, begins ...
using RealSet = std::vector<Cut>;

/// -1 or +1 for an infinity, otherwise 0.
int infinity_sign(const Tree& tree, Place at);

/// The set that an answer describes: an interval, a pair read as an open one, a finite set, unions and so on,
/// inequalities in one variable. Nothing if it describes none, or its bounds cannot be put in order.
std::optional<RealSet> real_set(const Tree& tree, Place at, Work& work);

/// Whether two sets are the same.
bool same_set(const Tree& tree, const RealSet& a, const RealSet& b, Work& work);

}  // namespace math_reward
