#pragma once

#include "token.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace math_answers {

enum class Kind : std::uint8_t {
  // numbers and expressions
  kNumber,  ///< text as in Sign::kNumber
  kSymbol,  ///< text: its name; subscript as its child, if it has one
  kPi,
  kEuler,
  kImaginary,
  kInfinity,
  kNegate,
  kSum,
  kProduct,
  kQuotient,
  kPower,
  kRoot,  ///< radicand, index
  kFactorial,
  kBinomial,
  kAbsolute,
  kFloor,
  kCeiling,
  kDegrees,
  kPercent,
  kResidue,    ///< a number and its modulus
  kPlusMinus,  ///< one or two children; detail: 1 for \mp; only while an answer is read
  kFunction,   ///< detail: Function; children: its arguments, for kLog behind them the base, if it has one
  kCall,       ///< text: the name of a function that nothing is known about
  // other answers
  kTuple,
  kInterval,  ///< two children; detail: kLowClosed, kHighClosed
  kSet,
  kList,  ///< elements separated at the outermost level; detail: 1 if joined by "and", 2 if by "or"
  kUnion,
  kIntersection,  ///< detail: kFromCondition for what {x | ...} describes
  kDifference,
  kReals,
  kMatrix,  ///< children: rows
  kRow,
  kRelation,  ///< children: operands; the relation before an operand is kept with it
  kText,
  kTime,         ///< text: the digits of the first part; children: the parts, numbers; detail: half of the day
  kBaseNumeral,  ///< two texts as children: digits, base; detail: 1 if negative
};

constexpr std::uint8_t kLowClosed = 1;
constexpr std::uint8_t kHighClosed = 2;
constexpr std::uint8_t kJoinedByAnd = 1;
constexpr std::uint8_t kJoinedByOr = 2;
constexpr std::uint8_t kFromCondition = 1;

/// The place of a node in a tree; kNone: no node.
using Place = std::int16_t;
constexpr Place kNone = -1;

struct Node {
  Kind kind = Kind::kNumber;
  std::uint8_t detail = 0;
  Relation relation = Relation::kNone;  ///< of an operand of a kRelation: what stands before it
  Place first = kNone;                  ///< its first child
  Place next = kNone;                   ///< the next child of its parent
  std::string_view text = {};

  Function function() const { return static_cast<Function>(detail); }
};

/// The nodes of both answers, and of what is built from them while they are compared. Places stay valid.
class Tree {
 public:
  Tree() { nodes_.reserve(64); }

  const Node& operator[](Place at) const { return nodes_[at]; }
  Node& operator[](Place at) { return nodes_[at]; }

  /// @throws Unreadable beyond kMostNodes
  Place add(Node node);
  Place add(Kind kind, std::uint8_t detail = 0, std::string_view text = {});
  Place add(Kind kind, Place child);
  Place add(Kind kind, Place left, Place right);
  Place add(Kind kind, const std::vector<Place>& children, std::uint8_t detail = 0);
  /// The same node under another parent.
  Place share(Place at);

  Kind kind(Place at) const { return nodes_[at].kind; }
  Place left(Place at) const { return nodes_[at].first; }
  Place right(Place at) const { return nodes_[nodes_[at].first].next; }
  bool has_right(Place at) const { return left(at) != kNone && right(at) != kNone; }
  std::vector<Place> children(Place at) const;
  int count(Place at) const;

  /// Whether both are written the same, spaces and braces apart.
  bool same(Place a, Place b) const;

 private:
  std::vector<Node> nodes_;
};

/// Whether an expression has variables, or functions that nothing is known about.
bool has_variables(const Tree& tree, Place at);

bool contains(const Tree& tree, Place at, Kind kind);

/// A number that stands for a symbol's name, subscript and primes; capitals and small letters are the same name.
std::uint64_t identity(const Tree& tree, Place symbol);

/// Spreads the bits of `value`: where variables and points get their pseudo-random values from.
std::uint64_t mix(std::uint64_t value);

}  // namespace math_answers
