#pragma once

// A value is the same wherever, whenever and in whatever order it is drawn:
//
//     const drift::RandomStream random = input.random.child("masks");
//     for (std::int64_t i = 0; i < length; ++i) {
//       if (random.uniform({input.step, response.number, i, draw}) < share) builder.mask(i);
//     }

#include <drift/export.h>

#include <cstdint>
#include <string_view>

namespace drift {

/// The place in a run at which a random value is used. Every field counts from 0 and must be below 2^32.
struct RandomPoint {
  std::int64_t step = 0;      ///< training step, or item number
  std::int64_t response = 0;  ///< its number within the step
  std::int64_t position = 0;  ///< token position, parameter element, …
  std::int64_t draw = 0;      ///< which draw at this point: denoising step, view, …
};

/// A named stream of counter-based random numbers (Philox 4x32-10): a value is a pure function of (seed, stream name,
/// point). It never depends on batch size, thread, rank or the order of calls, so a stream has no state and may be
/// shared between threads. Plugins draw only from the streams that they are given.
class DRIFT_API RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  /// An independent stream below this one.
  RandomStream child(std::string_view name) const;

  /// 64 uniformly distributed bits.
  std::uint64_t bits(const RandomPoint& point) const;

  /// Uniform in [0, 1), 53 bits.
  double uniform(const RandomPoint& point) const;

  /// Uniform in {0, …, bound - 1}; bound >= 1.
  std::int64_t below(std::int64_t bound, const RandomPoint& point) const;

  /// The key of the generator, for code that computes the same bits elsewhere.
  std::uint64_t key() const { return key_; }

 private:
  explicit RandomStream(std::uint64_t key) : key_(key) {}
  std::uint64_t key_;
};

}  // namespace drift
