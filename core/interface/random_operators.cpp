#include <core/interface/random_operators.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/full_like.h>

#include <array>

namespace drift {
namespace {

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), as at::philox_engine has it for
// one value.
constexpr int kRounds = 10;
constexpr std::int64_t kFactor0 = 0xD2511F53, kFactor1 = 0xCD9E8D57;
constexpr std::uint32_t kKeyStep0 = 0x9E3779B9, kKeyStep1 = 0xBB67AE85;
constexpr std::int64_t kWord = 0xFFFFFFFF;

/// High and low word of factor * x for 0 <= x < 2^32. The product may not fit an int64, but it fits 64 bits, and the
/// shift's copies of the sign bit are cut off.
std::array<at::Tensor, 2> multiply(std::int64_t factor, const at::Tensor& x) {
  const auto product = x * factor;
  return {at::bitwise_right_shift(product, 32) & kWord, product & kWord};
}

}  // namespace

at::Tensor uniform_with_operators(const RandomStream& random, std::int64_t step, const at::Tensor& response_M,
                                  const at::Tensor& position_M, const at::Tensor& draw_M) {
  auto key0 = static_cast<std::uint32_t>(random.key()), key1 = static_cast<std::uint32_t>(random.key() >> 32);
  std::array<at::Tensor, 4> counter{at::full_like(response_M, step), response_M, position_M, draw_M};
  for (int round = 0; round < kRounds; ++round) {
    const auto [high0, low0] = multiply(kFactor0, counter[0]);
    const auto [high1, low1] = multiply(kFactor1, counter[2]);
    counter = {high1 ^ counter[1] ^ static_cast<std::int64_t>(key0), low1,
               high0 ^ counter[3] ^ static_cast<std::int64_t>(key1), low0};
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
  // The upper 53 of 64 bits.
  const auto bits = at::bitwise_left_shift(counter[0], 21) | at::bitwise_right_shift(counter[1], 11);
  return bits.to(at::kDouble) * 0x1p-53;
}

}  // namespace drift
