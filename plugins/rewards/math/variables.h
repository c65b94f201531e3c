#pragma once

#include <cstdint>

#include "tree.h"

namespace math_reward {

/// Whether an expression has variables, or functions that nothing is known about.
bool has_variables(const Tree& tree, Place at);

bool contains(const Tree& tree, Place at, Kind kind);

/// A number that stands for a symbol's name, subscript and primes; capitals and small letters are the same name.
std::uint64_t identity(const Tree& tree, Place symbol);

/// Spreads the bits of `value`: where variables and points get their pseudo-random values from.
std::uint64_t mix(std::uint64_t value);

}  // namespace math_reward
