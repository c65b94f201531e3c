#pragma once

#include <optional>
#include <string>
#include <vector>

#include "equivalence.h"
#include "tree.h"
#include "work.h"

namespace math_reward {

/// Compares the trees of two answers, kind by kind.
class Comparer {
 public:
  Comparer(Tree& tree, const EquivalenceOptions& options) : tree_(tree), options_(options) {}

  bool equal(Place truth, Place prediction);
  /// How the last two values were found to be equal, or why that could not be decided; may be empty.
  const char* how() const { return how_; }

 private:
  // comparison.cpp
  bool values(Place truth, Place prediction);
  bool percentages(Place truth, Place prediction);
  bool scalars(Place truth, Place prediction);
  bool collections(Place truth, Place prediction);
  bool one_by_one(Place truth, Place prediction);
  bool as_sets(Place truth, Place prediction);
  bool intervals(Place truth, Place prediction);
  bool regions(Place truth, Place prediction);
  bool lists_inequalities(Place at) const;
  bool matrices(Place truth, Place prediction);
  bool times(Place truth, Place prediction);
  bool numerals(Place truth, Place prediction) const;

  // relations.cpp
  bool relations(Place truth, Place prediction);
  bool with_value(Place truth, Place relation);
  bool from_relation(Place relation, Place prediction);
  bool equations(Place truth, Place prediction);
  bool inequalities(Place truth, Place prediction);
  bool operands_equal(const std::vector<Place>& truth, const std::vector<Place>& prediction);
  bool consistent(Place chain);
  std::optional<bool> proportional(Place truth, Place prediction);
  std::optional<bool> proportional_at_points(Place wanted, Place given);
  Place difference(Place relation);
  bool same_direction(Place truth, Place prediction);

  bool is_equation(Place at) const;
  bool is_assignment(Place at) const;
  Place last(Place at) const;

  Tree& tree_;
  const EquivalenceOptions& options_;
  Work work_;
  const char* how_ = "";
};

/// The entries of a matrix, of a number times a matrix, or of a sum of such.
struct Matrix {
  std::size_t columns = 0;
  std::vector<Place> entries;  ///< row by row
};

/// Nothing for anything else, and for a matrix whose rows differ in length.
std::optional<Matrix> matrix(Tree& tree, Place at);

}  // namespace math_reward
