#include "bench/plain_decode.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <limits>

namespace drift::bench {
namespace {

/// The tokens of one forward and which of them are committed, both [B, W]; `x` the window's tokens before.
void select(const at::Tensor& logits, const DecodeCase& decoder, std::int64_t first, std::int64_t count,
            std::int64_t mask_id, at::Tensor x) {
  const auto masked = x == mask_id;
  const auto x0 = logits.argmax(-1);
  const auto p = at::softmax(logits.to(at::kDouble), -1);
  const auto probability = p.gather(-1, x0.unsqueeze(-1)).squeeze(-1);
  auto eligible = masked.clone();
  eligible.slice(1, first + decoder.block).fill_(false);
  eligible.slice(1, 0, first).fill_(false);
  const auto proposed = at::where(masked, x0, x);
  const auto confidence =
      at::where(eligible, probability, at::full({}, -std::numeric_limits<double>::infinity(), probability.options()));
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    if (!eligible[b].any().item<bool>()) continue;
    if (decoder.threshold == 0) {
      const auto chosen = std::get<1>(confidence[b].topk(std::min(count, eligible[b].sum().item<std::int64_t>())));
      x[b].index_copy_(0, chosen, proposed[b].index_select(0, chosen));
      continue;
    }
    auto chosen = confidence[b] >= decoder.threshold;
    if (!chosen.any().item<bool>()) chosen[confidence[b].argmax().item<std::int64_t>()] = true;
    x[b].copy_(at::where(chosen, proposed[b], x[b]));
  }
}

}  // namespace

at::Tensor plain_decode(const PlainLlada& model, const DecodeCase& decoder, const at::Tensor& prompt_BP,
                        std::int64_t length, std::int64_t mask_id) {
  const std::int64_t prompt = prompt_BP.size(1), sequence = prompt + length;
  auto x = at::cat({prompt_BP, at::full({prompt_BP.size(0), length}, mask_id, prompt_BP.options())}, 1);
  const std::int64_t blocks = length / decoder.block;
  const std::int64_t a_forward = decoder.steps == 0 ? 1 : decoder.block / (decoder.steps / blocks);
  for (std::int64_t begin = prompt; begin < sequence; begin += decoder.block) {
    const std::int64_t end = begin + decoder.block;
    const auto open = [&] { return (x.slice(1, begin, end) == mask_id).any().item<bool>(); };
    PlainCache cache;
    if (decoder.cache != "none") {
      select(model.fill(x, cache), decoder, begin, a_forward, mask_id, x);
      if (decoder.cache == "prefix") {
        for (auto* list : {&cache.keys, &cache.values}) {
          for (at::Tensor& kept : *list) kept = kept.narrow(1, 0, begin);
        }
      }
    }
    while (open()) {
      if (decoder.cache == "none") {
        select(model.logits(x), decoder, begin, a_forward, mask_id, x);
        continue;
      }
      const std::int64_t last = decoder.cache == "dual" ? end
                                : decoder.horizon < 0   ? sequence
                                                        : std::min(end + decoder.horizon, sequence);
      auto window = x.slice(1, begin, last);
      const auto logits = decoder.cache == "dual" ? model.replace(window, cache, begin) : model.append(window, cache);
      select(logits, decoder, 0, a_forward, mask_id, window);
    }
  }
  return x.slice(1, prompt);
}

}  // namespace drift::bench
