#pragma once

#include "answer_limits.h"
#include "tree.h"

#include <math_answers.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace math_answers {

struct Comparison {
  bool equal = false;
  std::string reason;  ///< one line for people, for example "3/4 is not 2/3"; ASCII, however hostile the answers are
  bool truth_parsed = false;
  bool prediction_parsed = false;
};

/// Whether two final answers mean the same mathematics. Nothing is thrown. An answer that cannot be read equals only
/// one that is written the same.
Comparison compare_answers(std::string_view truth, std::string_view prediction, const Options& options = {});

/// How a comparison of two expressions ended. `how` is for people: "as rational numbers".
struct Finding {
  bool equal = false;
  const char* how = "";
};

/// Whether two expressions have the same value: by exact arithmetic where it decides, otherwise by bounds of up to
/// 1,024 bits, and with variables at pseudo-random points.
Finding compare_scalars(const Tree& tree, Place truth, Place prediction, const Options& options, Work& work);

/// The sign of a - b for real numbers; nothing if they are not real, or cannot be told apart and are not equal.
std::optional<int> order(const Tree& tree, Place a, Place b, Work& work);

/// A place where a set of real numbers begins or ends: just before a number or just after it; or at an infinity.
struct Cut {
  Place value = kNone;
  int infinity = 0;  ///< -1, +1, or 0 at `value`
  bool after = false;
};

/// A set of real numbers: the cuts in rising order, at which it begins, ends, begins ...
using RealSet = std::vector<Cut>;

/// -1 or +1 for an infinity, otherwise 0.
int infinity_sign(const Tree& tree, Place at);

/// The set that an answer describes: an interval, a pair read as an open one, a finite set, unions and so on,
/// inequalities in one variable that are linear, quadratic, or linear in an absolute value. Nothing if it describes
/// none, or its bounds cannot be put in order.
std::optional<RealSet> real_set(Tree& tree, Place at, Work& work);

/// Whether two sets are the same.
bool same_set(Tree& tree, const RealSet& a, const RealSet& b, Work& work);

/// Values with their names, for example of "x = 1, y = 2".
using NamedValues = std::vector<std::pair<std::string, Place>>;

/// Compares the trees of two answers, kind by kind.
class Comparer {
 public:
  Comparer(Tree& tree, const Options& options) : tree_(tree), options_(options) {}

  bool equal(Place truth, Place prediction);
  /// How the last two values were found to be equal, or why that could not be decided; may be empty.
  const char* how() const { return how_; }

 private:
  // comparison.cpp
  bool values(Place truth, Place prediction);
  bool percentages(Place truth, Place prediction);
  Place printed(Place percentage);
  bool scalars(Place truth, Place prediction);
  bool collections(Place truth, Place prediction);
  std::optional<bool> named_values(Place truth, Place prediction);
  std::optional<bool> one_unknown(Place truth, Place prediction);
  std::optional<bool> without_names(Place truth, const NamedValues& wanted, Place prediction);
  bool one_by_one(Place truth, Place prediction);
  bool equal_elements(Place truth, Place prediction);
  bool as_sets(Place truth, Place prediction);
  bool intervals(Place truth, Place prediction);
  bool regions(Place truth, Place prediction);
  bool lists_inequalities(Place at) const;
  bool matrices(Place truth, Place prediction);
  bool times(Place truth, Place prediction);
  bool numerals(Place truth, Place prediction) const;
  bool residues(Place truth, Place prediction);
  bool same_digits(Place truth, Place prediction) const;

  // relations.cpp
  bool relations(Place truth, Place prediction);
  bool with_value(Place truth, Place relation);
  bool from_relation(Place relation, Place prediction);
  bool equations(Place truth, Place prediction);
  bool inequalities(Place truth, Place prediction);
  bool is_solved(Place inequality) const;
  bool same_solutions(Place truth, Place prediction);
  bool operands_equal(const std::vector<Place>& truth, const std::vector<Place>& prediction);
  bool consistent(Place chain);
  std::optional<int> proportional(Place truth, Place prediction);
  Place difference(Place relation);

  bool is_equation(Place at) const;
  bool is_assignment(Place at) const;
  Place last(Place at) const;

  Tree& tree_;
  const Options& options_;
  Work work_;
  const char* how_ = "";
};

/// The entries of a matrix, or of a number times a matrix.
struct Matrix {
  std::size_t columns = 0;
  std::vector<Place> entries;  ///< row by row
};

/// Nothing for anything else, and for a matrix whose rows differ in length.
std::optional<Matrix> matrix(Tree& tree, Place at);

}  // namespace math_answers
