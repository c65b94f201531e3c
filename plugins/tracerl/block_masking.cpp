// TraceRL's plans for backbones with block attention (dLLM-RL, train/rl_sdar.py at 10b4fd1): each block has a
// trajectory of its own, and a view shows a state of every block.

#include "tracerl.h"

#include <algorithm>
#include <limits>
#include <map>

namespace drift::tracerl {
namespace {

constexpr Choices<BlockOrigin, 2> kOrigins{{{"response", BlockOrigin::kResponse}, {"text", BlockOrigin::kText}}};

/// Positions that were never committed come after all steps.
constexpr std::int32_t kAfterAll = std::numeric_limits<std::int32_t>::max();

/// Steps of one block that a view predicts together.
struct Slice {
  std::int64_t round;        ///< of the block
  std::int32_t first, last;  ///< steps
};

/// Of each position the slice that it is in.
std::vector<Slice> slices(const Response& response, const std::vector<std::int64_t>& block, std::int64_t shrink) {
  const auto step_of = [&](std::size_t i) { return response.step[i] < 0 ? kAfterAll : response.step[i]; };
  std::map<std::int64_t, std::vector<std::int32_t>> steps;  // of each block, ascending
  for (std::size_t i = 0; i < block.size(); ++i) steps[block[i]].push_back(step_of(i));
  for (auto& [number, own] : steps) {
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto& own = steps[block[i]];
    const std::int64_t round = (std::ranges::lower_bound(own, step_of(i)) - own.begin()) / shrink;
    const std::int64_t end = std::min((round + 1) * shrink, std::ssize(own));
    slices.push_back({round, own[static_cast<std::size_t>(round * shrink)], own[static_cast<std::size_t>(end - 1)]});
  }
  return slices;
}

}  // namespace

BlockOrigin blocks_from(Parameters& parameters) {
  return parameters("blocks_from", kOrigins, BlockOrigin::kResponse,
                    "of a model with block attention: where its blocks begin when a response is scored; response: with "
                    "the response, as in the original; text: with the prompt, as they do when it is written");
}

MaskPlan block_rounds(const MaskingInput& input, std::int64_t shrink, std::int64_t kept_pads, BlockOrigin origin) {
  const Responses responses(input);
  const std::int64_t length = responses.length();
  PlanBuilder builder(length, responses.prompt_length());
  builder.count_blocks_from(origin);
  std::int64_t most_rounds = 1;
  for (std::int64_t b = 0; b < responses.size(); ++b) {
    const Response response = responses[b];
    const auto slice = slices(response, responses.blocks(b, origin), shrink);
    std::int64_t rounds = 0;
    for (const Slice& one : slice) rounds = std::max(rounds, one.round + 1);
    most_rounds = std::max(most_rounds, rounds);
    for (std::int64_t round = 0; round < rounds; ++round) {
      const auto is_target =
          scorable(response, length, input.pad_id, kept_pads, [&](std::int64_t i) { return slice[i].round == round; });
      if (std::ranges::count(is_target, true) == 0) continue;
      builder.begin_view(b, round);
      for (std::int64_t i = 0; i < length; ++i) {
        if (slice[i].round >= round) builder.mask(i);
        if (!is_target[i]) continue;
        builder.score(i, response.step[i] == slice[i].first);
        const bool belongs = kept_pads >= 0 || response.valid[i];
        builder.set_step(i, belongs ? slice[i].last : -1);
      }
    }
  }
  return builder.finish(most_rounds);
}

MaskPlan random_block_masks(const MaskingInput& input, std::int64_t masks, bool coupled, std::int64_t kept_pads,
                            BlockOrigin origin,
                            const std::function<bool(std::int64_t, std::int64_t, std::int64_t)>& is_masked) {
  const Responses responses(input);
  const std::int64_t length = responses.length();
  PlanBuilder builder(length, responses.prompt_length());
  builder.count_blocks_from(origin);
  const std::int64_t halves = coupled ? 2 : 1;
  for (std::int64_t half = 0; half < halves; ++half) {
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      for (std::int64_t m = 0; m < masks; ++m) {
        const auto is_chosen = [&](std::int64_t i) { return is_masked(b, m, i) == (half == 0); };
        const auto is_target = scorable(responses[b], length, input.pad_id, kept_pads, is_chosen);
        if (std::ranges::count(is_target, true) == 0) continue;
        builder.begin_view(b, half * masks + m);
        for (std::int64_t i = 0; i < length; ++i) {
          if (is_chosen(i)) builder.mask(i);
          if (is_target[i]) builder.score(i);
        }
      }
    }
  }
  return builder.finish(masks * halves);
}

}  // namespace drift::tracerl
