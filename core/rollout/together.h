#pragma once

// What the ranks of a run do together around a rollout: each has a share of the work, and all have the result. With one
// rank these are checked_trajectories() and Judge::judge().

#include <drift/rollout.h>

#include <core/ranks/ranks.h>
#include <core/rollout/judge.h>

#include <cstdint>
#include <span>
#include <vector>

namespace drift {

/// Responses [begin, end) alone, which are then as they are in the whole.
RolloutInput responses_of(const RolloutInput& input, std::int64_t begin, std::int64_t end);

/// Every rank writes a part of the responses and gets all of them, as one rank would have written them: a
/// response depends on its prompt and its number only. If responses may need different numbers of forwards, each rank
/// first writes a half of its share, and whoever is done takes the next part. What the parts are depends on nothing but
/// the number of ranks, so that the same run has the same bits whoever wrote which.
void generate_together(Ranks& ranks, const Rollout& rollout, const Model& model, const RolloutInput& input,
                       Trajectories& made);

/// The requests of an item, which are adjacent, are judged on one rank, so that equal responses are judged
/// once.
std::vector<Judgement> judge_together(Ranks& ranks, const Judge& judge, std::span<const RewardRequest> requests);

}  // namespace drift
