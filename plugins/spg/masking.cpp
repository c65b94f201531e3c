// SPG's masking (docs/spec/further_algorithms.md 7): copies of a response in states that block-wise decoding might have
// gone through.

#include "spg.h"

#include <drift/error.h>

#include <algorithm>
#include <numeric>

namespace drift::spg {

/// Where a copy draws: every value is a function of the response's number, the copy and the inner iteration.
struct CopyMasking::Copy {
  std::int64_t number;  ///< of the response in the rollout
  std::int64_t index;   ///< of the copy: 0 … num_t - 1
  std::int64_t draw;    ///< of the copy among those of all inner iterations
  std::int64_t valid;   ///< n: positions through the end token
};

namespace {

constexpr Choices<Mode, 4> kModes{{{"block_random", Mode::kBlockRandom},
                                   {"block_all", Mode::kBlockAll},
                                   {"random", Mode::kRandom},
                                   {"all", Mode::kAll}}};

}  // namespace

CopyMasking::CopyMasking(Parameters& parameters)
    : mode_(parameters("mode", kModes, Mode::kBlockRandom,
                       "what a copy masks: some of a random block and everything after it, or some, or all")),
      copies_(parameters("num_t", 2, "copies per response", between(1, 4096))),
      block_(parameters("block", 32, "positions per block", at_least(1))),
      min_t_(
          parameters("min_t", 0.0, "random modes: smallest masked share; at least one token is masked", between(0, 1))),
      max_t_(parameters("max_t", 1.0, "random modes: largest masked share", between(0, 1))),
      p_mask_prompt_(parameters("p_mask_prompt", 0.15,
                                "probability that a token of the prompt or of an earlier block is masked",
                                between(0, 1))),
      end_id_(parameters("end_id", -1,
                         "token that ends the valid part of a response, itself valid; -1 = the model's end token",
                         at_least(-1))) {
  if (min_t_ > max_t_) throw Error("min_t is above max_t", "the share of masked tokens is drawn between the two");
}

void CopyMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  const Responses responses(input);
  const std::int64_t length = responses.length(), prompt_length = responses.prompt_length();
  const RandomStream response_noise = input.random.child("response"), prompt_noise = input.random.child("prompt");
  PlanBuilder builder(length, prompt_length);

  for (std::int64_t b = 0; b < responses.size(); ++b) {
    for (std::int64_t t = 0; t < copies_; ++t) {
      const Copy copy{responses[b].number, t, input.inner_iteration * copies_ + t,
                      responses.positions_through_end(b, end_id_ >= 0 ? end_id_ : input.end_id)};
      // [begin, end): the valid positions of which some are masked. What follows is masked altogether.
      std::int64_t begin = 0, end = copy.valid;
      if (mode_ == Mode::kBlockRandom || mode_ == Mode::kBlockAll) {
        begin = drawn_block(input, copy, length) * block_;
        end = std::min(begin + block_, copy.valid);
      }
      std::vector<bool> masked(static_cast<std::size_t>(length), false);
      for (const std::int64_t i : drawn_positions(input, copy, begin, end)) masked[i] = true;
      std::fill(masked.begin() + end, masked.end(), true);
      // What the policy still sees of earlier blocks and of the prompt is masked here and there. Prompt positions count
      // back from the response, so that the padding of a batch moves no draw.
      const auto hidden = [&](const RandomStream& noise, std::int64_t position) {
        return noise.uniform({input.step, copy.number, position, copy.draw}) < p_mask_prompt_;
      };
      for (std::int64_t i = 0; i < begin; ++i) masked[i] = hidden(response_noise, i);

      builder.begin_view(b, t);
      for (std::int64_t p = 0; p < prompt_length; ++p) {
        if (hidden(prompt_noise, prompt_length - 1 - p)) builder.mask_prompt(p);
      }
      std::int64_t targets = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        if (!masked[i]) continue;
        builder.mask(i);
        if (i >= copy.valid) continue;
        builder.score(i);
        ++targets;
      }
      builder.weigh(static_cast<double>(copy.valid) / static_cast<double>(targets));  // 1 / t_hat
    }
  }
  plan = builder.finish(copies_);
}

/// All of [begin, end), or a random number of random positions in it, at least one.
std::vector<std::int64_t> CopyMasking::drawn_positions(const MaskingInput& input, const Copy& copy, std::int64_t begin,
                                                       std::int64_t end) const {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(end - begin));
  std::iota(positions.begin(), positions.end(), begin);
  if (mode_ == Mode::kBlockAll || mode_ == Mode::kAll) return positions;
  const auto share = [&](double t) { return static_cast<std::int64_t>(static_cast<double>(end - begin) * t); };
  const std::int64_t fewest = std::max<std::int64_t>(share(min_t_), 1), most = std::max(share(max_t_), fewest);
  const std::int64_t count =
      fewest + input.random.child("count").below(most - fewest + 1, {input.step, copy.number, 0, copy.draw});
  const auto key = [&](std::int64_t i) { return input.random.bits({input.step, copy.number, i, copy.draw}); };
  std::stable_sort(positions.begin(), positions.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  positions.resize(static_cast<std::size_t>(count));
  return positions;
}

/// All blocks in random order, one for each copy. Those after the end are mapped to one before it, by the remainder.
std::int64_t CopyMasking::drawn_block(const MaskingInput& input, const Copy& copy, std::int64_t length) const {
  const auto blocks = [&](std::int64_t positions) { return (positions + block_ - 1) / block_; };
  const RandomStream random = input.random.child("block");
  const auto key = [&](std::int64_t i) { return random.bits({input.step, copy.number, i, input.inner_iteration}); };
  std::vector<std::int64_t> order(static_cast<std::size_t>(blocks(length)));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  return order[copy.index % order.size()] % blocks(copy.valid);
}

}  // namespace drift::spg
