#include <drift/nearest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

namespace drift {
namespace {

char folded(char c) {
  if (c == '-') return '_';
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1])) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

/// Words for which no likeness of letters leads to ours.
constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
    {"lr", "learning_rate"}, {"gpu", "cuda"}, {"bf16", "bfloat16"}, {"fp32", "float32"}};

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestName = 200;  // beyond it the text is no misspelt name
  if (name.empty() || name.size() > kLongestName) return {};
  const std::size_t last = name.rfind('.') + 1;  // 0 where there is no section
  for (const auto& [word, ours] : kOtherWords) {
    const std::string meant = std::string(name.substr(0, last)).append(ours);
    if (name.substr(last) == word && std::ranges::count(candidates, meant) > 0) return meant;
  }
  std::string best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t longer = std::max(name.size(), candidate.size());
    const bool near = distance <= std::max<std::size_t>(1, longer / 3) && distance < longer;
    if (near && (best.empty() || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace drift
