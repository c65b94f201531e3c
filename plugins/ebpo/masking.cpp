// EBPO's masks: every block at once, each at a level of its own.

#include "ebpo.h"

#include <algorithm>

namespace drift::ebpo {
namespace {

constexpr Choices<BlockOrigin, 2> kOrigins{{{"text", BlockOrigin::kText}, {"response", BlockOrigin::kResponse}}};

/// What is behind the response is masked, as when its last block was written.
void begin_view(const Responses& responses, std::int64_t b, std::int64_t view, PlanBuilder& builder) {
  builder.begin_view(b, view);
  for (std::int64_t i = 0; i < responses.length(); ++i) {
    if (!responses[b].valid[i]) builder.mask(i);
  }
}

void add_block(const MaskingInput& input, std::int64_t response, std::vector<std::int64_t> tokens, double level,
               std::int64_t view, PlanBuilder& builder) {
  const auto key = [&](std::int64_t i) { return input.random.bits({input.step, response, i, view}); };
  std::stable_sort(tokens.begin(), tokens.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  const std::int64_t masks = masks_of_block(level, std::ssize(tokens));
  for (std::int64_t k = 0; k < masks; ++k) {
    const std::int64_t i = tokens[static_cast<std::size_t>(k)];
    builder.mask(i);
    builder.score(i);
    builder.weigh_token(i, static_cast<double>(tokens.size()) / static_cast<double>(masks));  // 1 / p
  }
}

}  // namespace

BlockMasking::BlockMasking(Parameters& parameters)
    : views_(parameters("num_mc", 16, "N: views of each response", between(1, 1024))),
      micro_batch_(parameters("micro_batch", 1, "responses over whose blocks the levels are spread evenly, 0 = all",
                              at_least(0))),
      origin_(parameters("blocks_from", kOrigins, BlockOrigin::kText, "where a view's blocks begin to count")) {}

void BlockMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  const Responses responses(input);
  const auto tokens = tokens_of_blocks(responses, input.block_size, origin_);
  const std::int64_t size = micro_batch_ > 0 ? micro_batch_ : std::max<std::int64_t>(responses.size(), 1);
  const RandomStream offsets = input.random.child("offset");
  PlanBuilder builder(responses.length(), responses.prompt_length());
  for (std::int64_t first = 0; first < responses.size(); first += size) {
    const std::int64_t end = std::min(first + size, responses.size());
    std::int64_t blocks = 0, next = 0;
    for (std::int64_t b = first; b < end; ++b) blocks += std::ssize(tokens[static_cast<std::size_t>(b)]);
    for (std::int64_t b = first; b < end; ++b) {
      const auto& own = tokens[static_cast<std::size_t>(b)];
      for (std::int64_t view = 0; view < views_ && !own.empty(); ++view) {
        const double offset = offsets.uniform({input.step, responses[first].number, 0, view});
        begin_view(responses, b, view, builder);
        for (std::int64_t i = 0; i < std::ssize(own); ++i) {
          const double level = level_of_block(offset, next + i, blocks);
          add_block(input, responses[b].number, own[static_cast<std::size_t>(i)], level, view, builder);
        }
      }
      next += std::ssize(own);
    }
  }
  builder.count_blocks_from(origin_);
  plan = builder.finish(views_);
}

}  // namespace drift::ebpo
