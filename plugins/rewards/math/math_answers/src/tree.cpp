#include "tree.h"

#include "answer_limits.h"

namespace math_answers {

Place Tree::add(Node node) {
  if (nodes_.size() == kMostNodes) throw Unreadable{"too large"};
  nodes_.push_back(node);
  return static_cast<Place>(nodes_.size() - 1);
}

Place Tree::add(Kind kind, std::uint8_t detail, std::string_view text) {
  return add(Node{kind, detail, Relation::kNone, kNone, kNone, text});
}

Place Tree::add(Kind kind, Place child) { return add(Node{kind, 0, Relation::kNone, child, kNone, {}}); }

Place Tree::add(Kind kind, Place left, Place right) {
  nodes_[left].next = right;
  return add(kind, left);
}

Place Tree::add(Kind kind, const std::vector<Place>& children, std::uint8_t detail) {
  for (std::size_t i = 0; i + 1 < children.size(); ++i) nodes_[children[i]].next = children[i + 1];
  const Place at = add(kind, children.empty() ? kNone : children.front());
  nodes_[at].detail = detail;
  return at;
}

Place Tree::share(Place at) {
  Node copy = nodes_[at];
  copy.next = kNone;
  copy.relation = Relation::kNone;
  return add(copy);
}

std::vector<Place> Tree::children(Place at) const {
  std::vector<Place> all;
  for (Place child = nodes_[at].first; child != kNone; child = nodes_[child].next) all.push_back(child);
  return all;
}

int Tree::count(Place at) const {
  int count = 0;
  for (Place child = nodes_[at].first; child != kNone; child = nodes_[child].next) ++count;
  return count;
}

bool Tree::same(Place a, Place b) const {
  const Node& one = nodes_[a];
  const Node& other = nodes_[b];
  if (one.kind != other.kind || one.detail != other.detail || one.text != other.text) return false;
  Place x = one.first;
  Place y = other.first;
  for (; x != kNone && y != kNone; x = nodes_[x].next, y = nodes_[y].next) {
    if (nodes_[x].relation != nodes_[y].relation || !same(x, y)) return false;
  }
  return x == y;
}

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

}  // namespace math_answers
