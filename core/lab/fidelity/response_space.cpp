#include <core/lab/fidelity/response_space.h>

#include <drift/error.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

namespace drift {
namespace {

std::vector<std::int64_t> allowed_tokens(const ModelTraits& traits) {
  std::vector<std::int64_t> allowed;
  for (std::int64_t id = 0; id < traits.vocabulary_size; ++id) {
    const bool forbidden = std::ranges::any_of(
        traits.forbidden_output_ids, [&](const auto& range) { return range.first <= id && id < range.second; });
    if (!forbidden) allowed.push_back(id);
  }
  return allowed;
}

}  // namespace

ResponseSpace::ResponseSpace(const ModelTraits& traits, std::vector<std::int64_t> prompt, std::int64_t length)
    : traits_(traits), prompt_(std::move(prompt)), tokens_(allowed_tokens(traits)), length_(length) {
  if (prompt_.empty()) throw Error("the prompt has no token", "ask something");
  const double count = std::pow(static_cast<double>(choices() + 1), static_cast<double>(length));
  if (count > static_cast<double>(kMostStates)) {
    throw Error("responses of " + std::to_string(length) + " positions of " + std::to_string(choices()) +
                    " tokens have more than " + std::to_string(kMostStates) +
                    " states: their probabilities cannot be enumerated",
                "shorten rollout.length, use the model of configs/fidelity.toml, or compare with a reference of many "
                "views: --reference-views 64");
  }
}

std::vector<std::int64_t> ResponseSpace::masked_positions(Pattern pattern) const {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < length_; ++i) {
    if (is_masked(pattern, i)) positions.push_back(i);
  }
  return positions;
}

std::vector<std::int64_t> ResponseSpace::open_positions(Pattern pattern) const {
  auto positions = masked_positions(pattern);
  const std::int64_t block = traits_.block_size, prompt = std::ssize(prompt_);
  if (block == 0 || positions.empty()) return positions;
  const std::int64_t place = prompt + positions.front(), end = place / block * block + block - prompt;
  std::erase_if(positions, [&](std::int64_t position) { return position >= end; });
  if (traits_.prediction_row == PredictionRow::kPrevious && place % block == 0) positions.resize(1);
  return positions;
}

std::int64_t ResponseSpace::further_forwards() const {
  const std::int64_t block = traits_.block_size, prompt = std::ssize(prompt_);
  if (block == 0) return 0;
  if (traits_.prediction_row == PredictionRow::kPrevious) return prompt > block && prompt % block != 0 ? 1 : 0;
  return (prompt >= block ? 1 : 0) + (prompt + length_ - 1) / block - prompt / block;
}

std::int64_t ResponseSpace::states(Pattern pattern) const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape(pattern)) count *= size;
  return count;
}

std::int64_t ResponseSpace::states() const {
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < length_; ++i) count *= choices() + 1;
  return count;
}

at::Tensor ResponseSpace::tokens_NL(Pattern pattern) const {
  const std::int64_t count = states(pattern);
  auto tokens = at::empty({count, length_}, at::kLong);
  std::int64_t* const data = tokens.data_ptr<std::int64_t>();
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n;
    for (std::int64_t i = length_ - 1; i >= 0; --i) {
      if (is_masked(pattern, i)) {
        data[n * length_ + i] = traits_.mask_id;
        continue;
      }
      data[n * length_ + i] = tokens_[static_cast<std::size_t>(rest % choices())];
      rest /= choices();
    }
  }
  return tokens;
}

at::Tensor ResponseSpace::number_B(const at::Tensor& tokens_BL) const {
  const auto tokens = tokens_BL.contiguous();
  auto number = at::zeros({tokens.size(0)}, at::kLong);
  for (std::int64_t b = 0; b < tokens.size(0); ++b) {
    std::int64_t& found = number.data_ptr<std::int64_t>()[b];
    for (std::int64_t i = 0; i < length_; ++i) {
      const std::int64_t token = tokens.const_data_ptr<std::int64_t>()[b * length_ + i];
      const auto at = std::ranges::lower_bound(tokens_, token);
      assert(at != tokens_.end() && *at == token);
      found = found * choices() + (at - tokens_.begin());
    }
  }
  return number;
}

std::vector<std::int64_t> ResponseSpace::shape(Pattern pattern) const {
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < length_; ++i) sizes.push_back(is_masked(pattern, i) ? 1 : choices());
  return sizes;
}

}  // namespace drift
