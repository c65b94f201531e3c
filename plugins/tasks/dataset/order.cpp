#include "order.h"

#include <bit>

namespace dataset {
namespace {

constexpr int kRounds = 10;

}  // namespace

// A Feistel network permutes the numbers of 2 * half bits whatever its round function is; numbers beyond the size are
// sent through it again until one is within (Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002).
std::int64_t shuffled(std::int64_t position, std::int64_t size, std::int64_t round, const drift::RandomStream& random) {
  const int half = (std::bit_width(static_cast<std::uint64_t>(size - 1)) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto number = static_cast<std::uint64_t>(position);
  do {
    for (int i = 0; i < kRounds; ++i) {
      const std::uint64_t left = number >> half, right = number & mask;
      const std::uint64_t drawn = random.bits({.step = round, .position = static_cast<std::int64_t>(right), .draw = i});
      number = right << half | (left ^ (drawn & mask));
    }
  } while (number >= static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(number);
}

}  // namespace dataset
