#pragma once

#include <cstdint>

#include "exact_evaluation.h"
#include "tree.h"
#include "work.h"

namespace math_reward {

/// The expression's value modulo a prime at the `draw`-th pseudo-random point, the same for both answers. Variables, pi
/// and e are independent: pi and e are transcendental, and no relation between them is known. Two different rational
/// functions of degree d agree at a random point with a chance of d in 10^18. Two primes of about 2^61 take turns, so
/// that no constant written in an answer is zero for both. kOther: not a rational function.
Outcome evaluate_modulo(const Tree& tree, Place at, unsigned draw, Work& work, std::uint64_t& out);

constexpr unsigned kModularPoints = 4;
constexpr unsigned kModularDraws = 8;  ///< where a divisor is zero, another point is drawn

std::uint64_t prime_of_draw(unsigned draw);
std::uint64_t multiply_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t prime);

/// Whether two rational functions are the same: kValue, and `equal` says so; otherwise it cannot be decided in this
/// way.
Outcome equal_modulo(const Tree& tree, Place a, Place b, Work& work, bool& equal);

}  // namespace math_reward
