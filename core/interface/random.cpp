#include <drift/random.h>

#include <drift/error.h>

#include <ATen/core/PhiloxRNGEngine.h>

#include <string>

namespace drift {
namespace {

// The finaliser of SplitMix64 over FNV-1a, so that names that differ in one letter give unrelated keys.
std::uint64_t mix(std::uint64_t key, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325u ^ key;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  hash += 0x9E3779B97F4A7C15u;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
  return hash ^ (hash >> 31);
}

[[noreturn]] void refuse(std::int64_t value) {
  throw Error("a random point holds " + std::to_string(value), "every field of RandomPoint must be in [0, 2^32)");
}

/// Two of the counter's four words, as ATen's generator takes them.
std::uint64_t words(std::int64_t low, std::int64_t high) {
  for (const std::int64_t word : {low, high}) {
    if (word < 0 || word >= (std::int64_t{1} << 32)) refuse(word);
  }
  return static_cast<std::uint64_t>(low) | static_cast<std::uint64_t>(high) << 32;
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) : key_(mix(seed, name)) {}

RandomStream RandomStream::child(std::string_view name) const { return RandomStream(mix(key_, name)); }

std::uint64_t RandomStream::bits(const RandomPoint& point) const {
  at::philox_engine philox(key_, words(point.position, point.draw), words(point.step, point.response));
  const std::uint64_t high = philox();
  return high << 32 | philox();
}

double RandomStream::uniform(const RandomPoint& point) const {
  return static_cast<double>(bits(point) >> 11) * 0x1p-53;
}

std::int64_t RandomStream::below(std::int64_t bound, const RandomPoint& point) const {
  if (bound < 1) throw Error("RandomStream::below(" + std::to_string(bound) + ")", "the bound must be at least 1");
  // High word of a 64 x 64 bit product; the bias is below 2^-32 for every bound that occurs.
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((static_cast<Wide>(bits(point)) * static_cast<std::uint64_t>(bound)) >> 64);
}

}  // namespace drift
