#include "tree.h"

namespace math_reward {

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

}  // namespace math_reward
