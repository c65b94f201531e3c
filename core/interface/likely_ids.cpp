#include <core/interface/likely_ids.h>

#include <algorithm>
#include <functional>

namespace drift {
namespace {

bool more_likely(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

constexpr std::ptrdiff_t kFewCandidates = 64;  // are sorted

}  // namespace

LikelyIds most_likely_weighing(double weight, std::vector<Candidate> candidates) {
  auto begin = candidates.begin(), end = candidates.end();
  double reached = 0;  // by those before `begin`; the last one kept is in [begin, end), if there is one
  while (end - begin > kFewCandidates) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, more_likely);
    double upper = 0;
    for (auto at = begin; at != middle; ++at) upper += at->weight;
    if (reached + upper > weight) {
      end = middle;
    } else {
      reached += upper;
      begin = middle;
    }
  }
  std::sort(begin, end, more_likely);
  for (auto at = begin; at != end; ++at) {
    reached += at->weight;
    if (reached > weight || at + 1 == end) return {at->logit, at->id};
  }
  return {};
}

LikelyIds most_likely(std::int64_t count, std::vector<Candidate> candidates) {
  LikelyIds likely;
  if (count >= static_cast<std::int64_t>(candidates.size())) return likely;
  const auto last = candidates.begin() + (count - 1);
  std::nth_element(candidates.begin(), last, candidates.end(), more_likely);
  likely.logit = last->logit;
  return likely;
}

}  // namespace drift
