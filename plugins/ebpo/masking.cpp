// EBPO's masks: every block at once, each at a level of its own.

#include "ebpo.h"

namespace drift::ebpo {
namespace {

constexpr Choices<BlockOrigin, 2> kOrigins{{{"text", BlockOrigin::kText}, {"response", BlockOrigin::kResponse}}};

/// Tokens of each block of a response, block after block; of a model without blocks, of the response.
std::vector<std::vector<std::int64_t>> tokens_of_blocks(const Responses& responses, std::int64_t b,
                                                        std::int64_t block_size, BlockOrigin origin) {
  const std::vector<std::int64_t> block = block_size > 0 ? responses.blocks(b, origin) : std::vector<std::int64_t>();
  std::vector<std::vector<std::int64_t>> tokens;
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < responses.length(); ++i) {
    if (!responses[b].valid[i]) continue;
    const std::int64_t own = block.empty() ? 0 : block[static_cast<std::size_t>(i)];
    if (own != last) tokens.emplace_back();
    last = own;
    tokens.back().push_back(i);
  }
  return tokens;
}

}  // namespace

BlockMasking::BlockMasking(Parameters& parameters)
    : views_(parameters("num_mc", 16, "N: views of each response", between(1, 1024))),
      micro_batch_(parameters("micro_batch", 0, "responses over whose blocks the levels are spread evenly, 0 = all",
                              at_least(0))),
      origin_(parameters("block_origin", kOrigins, BlockOrigin::kText, "where a view's blocks begin to count")) {}

void BlockMasking::plan(const MaskingInput& input, MaskPlan& plan) const {
  const Responses responses(input);
  const std::int64_t length = responses.length();
  const std::int64_t micro_batch = micro_batch_ > 0 ? micro_batch_ : std::max<std::int64_t>(responses.size(), 1);
  const RandomStream offsets = input.random.child("offset");
  PlanBuilder builder(length, responses.prompt_length());

  for (std::int64_t first = 0; first < responses.size(); first += micro_batch) {
    std::vector<std::vector<std::vector<std::int64_t>>> tokens;  // of each response's blocks
    std::int64_t blocks = 0;
    for (std::int64_t b = first; b < std::min(first + micro_batch, responses.size()); ++b) {
      tokens.push_back(tokens_of_blocks(responses, b, input.block_size, origin_));
      blocks += static_cast<std::int64_t>(tokens.back().size());
    }
    std::int64_t before = 0;  // blocks of the responses before this one
    for (std::size_t r = 0; r < tokens.size(); ++r) {
      const std::int64_t b = first + static_cast<std::int64_t>(r);
      for (std::int64_t view = 0; view < views_ && !tokens[r].empty(); ++view) {
        const double offset = offsets.uniform({input.step, responses[first].number, 0, view});
        builder.begin_view(b, view);
        for (std::int64_t i = 0; i < length; ++i) {
          if (!responses[b].valid[i]) builder.leave_unattended(i);
        }
        std::int64_t i = before;
        for (std::vector<std::int64_t> order : tokens[r]) {
          const auto key = [&](std::int64_t token) {
            return input.random.bits({input.step, responses[b].number, token, view});
          };
          std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) { return key(x) < key(y); });
          const auto count = static_cast<std::int64_t>(order.size());
          const std::int64_t masks = masks_of_block(offset, i++, blocks, count);
          for (std::int64_t k = 0; k < masks; ++k) {
            const std::int64_t token = order[static_cast<std::size_t>(k)];
            builder.mask(token);
            builder.score(token);
            builder.weigh_token(token, static_cast<double>(count) / static_cast<double>(masks));  // 1 / p
          }
        }
      }
      before += static_cast<std::int64_t>(tokens[r].size());
    }
  }
  builder.count_blocks_from(origin_);
  plan = builder.finish(views_);
}

}  // namespace drift::ebpo
