#include "variables.h"

#include "ascii.h"

namespace math_reward {

bool has_variables(const Tree& tree, Place at) {
  if (tree.kind(at) == Kind::kSymbol || tree.kind(at) == Kind::kCall) return true;
  for (Place child = tree[at].first; child != kNone; child = tree[child].next) {
    if (has_variables(tree, child)) return true;
  }
  return false;
}

bool contains(const Tree& tree, Place at, Kind kind) {
  if (tree.kind(at) == kind) return true;
  for (Place child = tree[at].first; child != kNone; child = tree[child].next) {
    if (contains(tree, child, kind)) return true;
  }
  return false;
}

// splitmix64 (Steele, Lea, Flood, 2014).
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint64_t identity(const Tree& tree, Place symbol) {
  const Node& node = tree[symbol];
  std::uint64_t hash = mix(static_cast<std::uint64_t>(node.kind) * 256 + node.detail);
  for (const char c : node.text) hash = mix(hash ^ static_cast<std::uint64_t>(to_lower(c)));
  for (Place child = node.first; child != kNone; child = tree[child].next) hash = mix(hash ^ identity(tree, child));
  return hash;
}

}  // namespace math_reward
