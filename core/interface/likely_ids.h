#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace drift {

/// An id that may be drawn, and its share of the probability in any unit.
struct Candidate {
  float logit;
  float weight;
  std::int64_t id;
};

/// Keeps candidates with larger logits than its own, and of equal ones those with ids up to its own.
struct LikelyIds {
  float logit = -std::numeric_limits<float>::infinity();
  std::int64_t last_id = std::numeric_limits<std::int64_t>::max();

  bool keep(const Candidate& candidate) const {
    return candidate.logit > logit || (candidate.logit == logit && candidate.id <= last_id);
  }
};

/// The most likely candidates, equal ones in the order of ids, up to the one with which their weights add up to more
/// than `weight`. All if they never do. Does not sort them: expected time is linear.
LikelyIds most_likely_weighing(double weight, std::vector<Candidate> candidates);

/// The `count` most likely candidates, and those as likely as the last of them.
LikelyIds most_likely(std::int64_t count, std::vector<Candidate> candidates);

}  // namespace drift
