#include "determinant.h"

#include <array>

namespace math_reward {
namespace {

constexpr std::size_t kMostRows = 6;

// Expansion along the rows, from the last one up: each minor is a choice of columns, and is built once.
class Expansion {
 public:
  Expansion(Tree& tree, std::vector<std::vector<Place>> rows) : tree_(tree), rows_(std::move(rows)) {
    built_.fill(kNone);
  }

  // Of the last rows, as many as there are bits in `columns`.
  Place minor(unsigned columns) {
    Place& built = built_[columns];
    if (built != kNone) return tree_.share(built);
    const auto size = static_cast<std::size_t>(__builtin_popcount(columns));
    const auto& row = rows_[rows_.size() - size];
    Place sum = kNone;
    bool negative = false;
    for (std::size_t column = 0; column < rows_.size(); ++column) {
      const unsigned bit = 1u << column;
      if ((columns & bit) == 0) continue;
      Place term = tree_.share(row[column]);
      if (size > 1) term = tree_.add(Kind::kProduct, term, minor(columns & ~bit));
      if (negative) term = tree_.add(Kind::kNegate, term);
      sum = sum == kNone ? term : tree_.add(Kind::kSum, sum, term);
      negative = !negative;
    }
    return built_[columns] = sum;
  }

 private:
  Tree& tree_;
  std::vector<std::vector<Place>> rows_;
  std::array<Place, 1u << kMostRows> built_;
};

}  // namespace

Place determinant(Tree& tree, Place matrix) {
  if (tree.kind(matrix) != Kind::kMatrix) throw Unreadable{"the determinant of something that is no matrix"};
  std::vector<std::vector<Place>> rows;
  for (const Place row : tree.children(matrix)) rows.push_back(tree.children(row));
  for (const auto& row : rows) {
    if (row.size() != rows.size() || rows.size() > kMostRows) throw Unreadable{"a determinant without a value"};
  }
  const auto all = (1u << rows.size()) - 1;
  return Expansion(tree, std::move(rows)).minor(all);
}

}  // namespace math_reward
