#include "decoder.h"

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>

namespace drift::block {
namespace {

// The linear schedule of static decoding: `masked` positions over `steps` forwards; forward `index` commits this many,
// the surplus going to the first ones (docs/spec/models_rollout.md 3.0, num_transfer). Example: 32 over 5 gives 7, 7,
// 6, 6, 6.
std::int64_t scheduled_commits(std::int64_t masked, std::int64_t steps, std::int64_t index) {
  return masked / steps + (index < masked % steps ? 1 : 0);
}

// Forwards for block `block` when `steps` are shared out over `blocks`, the surplus going to the first ones.
std::int64_t steps_of_block(std::int64_t steps, std::int64_t blocks, std::int64_t block) {
  return std::max<std::int64_t>(1, steps / blocks + (block < steps % blocks ? 1 : 0));
}

Confidence confidence_of(Remasking remasking) {
  switch (remasking) {
    case Remasking::kMargin: return Confidence::kMargin;
    case Remasking::kNegativeEntropy: return Confidence::kNegativeEntropy;
    default: return Confidence::kProbability;
  }
}

}  // namespace

BlockDecoder::BlockDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first,
                           std::int64_t last)
    : settings_(settings),
      input_(input),
      traits_(input.policy->traits()),
      sampling_{settings.temperature, confidence_of(settings.remasking), traits_.forbidden_output_ids, {}, {}},
      remasking_random_(input.random.child("remasking")) {
  for (std::int64_t index = first; index < last; ++index) {
    Row row;
    row.index = index;
    row.tokens.assign(static_cast<std::size_t>(settings.length), traits_.mask_id);
    row.step.assign(static_cast<std::size_t>(settings.length), -1);
    row.logprob.assign(static_cast<std::size_t>(settings.length), 0.0f);
    row.block_masked = settings.block;
    rows_.push_back(std::move(row));
  }
}

void BlockDecoder::run(Trajectories& trajectories) {
  std::vector<Row*> active;
  for (Row& row : rows_) active.push_back(&row);
  while (!active.empty() && !(input_.cancelled && input_.cancelled->load())) {
    advance(distinct_states(active));
    std::erase_if(active, [&](const Row* row) { return row->block_start >= settings_.length; });
  }
  for (const Row& row : rows_) {
    const auto copy = [&](const at::Tensor& to, const void* from, std::size_t bytes) {
      std::memcpy(to[row.index].data_ptr(), from, bytes);
    };
    copy(trajectories.tokens_BL, row.tokens.data(), row.tokens.size() * sizeof(std::int64_t));
    copy(trajectories.step_BL, row.step.data(), row.step.size() * sizeof(std::int32_t));
    copy(trajectories.commit_logprob_BL, row.logprob.data(), row.logprob.size() * sizeof(float));
    trajectories.forwards_B.data_ptr<std::int64_t>()[row.index] = row.forwards;
  }
}

std::vector<std::vector<BlockDecoder::Row*>> BlockDecoder::distinct_states(const std::vector<Row*>& active) const {
  std::vector<std::vector<Row*>> states;
  std::unordered_map<std::string, std::size_t> seen;
  for (Row* row : active) {
    std::string key(reinterpret_cast<const char*>(row->tokens.data()), row->tokens.size() * sizeof(std::int64_t));
    // Responses of a group have the same prompt.
    const std::int64_t group = input_.prompts.group_B.const_data_ptr<std::int64_t>()[row->index];
    key.append(reinterpret_cast<const char*>(&group), sizeof group);
    const auto [found, is_new] = seen.emplace(std::move(key), states.size());
    if (is_new) states.emplace_back();
    states[found->second].push_back(row);
  }
  return states;
}

std::vector<std::int64_t> BlockDecoder::masked_of_block(const Row& row) const {
  std::vector<std::int64_t> masked;
  for (std::int64_t i = row.block_start; i < row.block_start + settings_.block; ++i) {
    if (row.step[static_cast<std::size_t>(i)] < 0) masked.push_back(i);
  }
  return masked;
}

// One row for each masked position of each state's block, state after state.
ForwardInput BlockDecoder::forward_input(const std::vector<std::vector<Row*>>& states) const {
  const auto& prompts = input_.prompts;
  const std::int64_t prompt_length = prompts.tokens_BP.size(1), sequence = prompt_length + settings_.length;
  const auto count = static_cast<std::int64_t>(states.size());
  auto tokens = at::empty({count, sequence}, at::kLong);
  std::vector<std::int64_t> representatives, wanted;
  for (std::int64_t s = 0; s < count; ++s) {
    const Row& row = *states[static_cast<std::size_t>(s)].front();
    representatives.push_back(row.index);
    std::int64_t* to = tokens.data_ptr<std::int64_t>() + s * sequence;
    std::memcpy(to, prompts.tokens_BP.const_data_ptr<std::int64_t>() + row.index * prompt_length,
                static_cast<std::size_t>(prompt_length) * sizeof(std::int64_t));
    std::memcpy(to + prompt_length, row.tokens.data(), row.tokens.size() * sizeof(std::int64_t));
    for (const std::int64_t i : masked_of_block(row)) wanted.push_back(s * sequence + prompt_length + i);
  }
  const auto device = input_.policy->device();
  ForwardInput forward;
  forward.tokens_BS = tokens.to(device);
  forward.rows_N = at::empty({static_cast<std::int64_t>(wanted.size())}, at::kLong);
  std::memcpy(forward.rows_N.data_ptr(), wanted.data(), wanted.size() * sizeof(std::int64_t));
  forward.rows_N = forward.rows_N.to(device);
  if (prompts.mask_BP.defined() && !prompts.mask_BP.all().item<bool>()) {
    auto index = at::empty({count}, at::kLong);
    std::memcpy(index.data_ptr(), representatives.data(), representatives.size() * sizeof(std::int64_t));
    const auto response = at::ones({count, settings_.length}, at::kBool);
    forward.key_mask_BS = at::cat({prompts.mask_BP.index_select(0, index), response}, 1).to(device);
  }
  return forward;
}

void BlockDecoder::advance(const std::vector<std::vector<Row*>>& states) {
  std::vector<std::int64_t> rows;
  std::vector<double> uniforms;
  std::int64_t first = 0;
  for (const auto& state : states) {
    const auto masked = masked_of_block(*state.front());
    for (const Row* row : state) {
      for (std::size_t m = 0; m < masked.size(); ++m) {
        rows.push_back(first + static_cast<std::int64_t>(m));
        const RandomPoint point{input_.step, input_.first_sample + row->index, masked[m], row->forwards};
        uniforms.push_back(settings_.temperature == 0 ? 0 : input_.random.uniform(point));
      }
    }
    first += static_cast<std::int64_t>(masked.size());
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  auto row_M = at::empty({count}, at::kLong);
  auto uniform_M = at::empty({count}, at::kDouble);
  std::memcpy(row_M.data_ptr(), rows.data(), rows.size() * sizeof(std::int64_t));
  std::memcpy(uniform_M.data_ptr(), uniforms.data(), uniforms.size() * sizeof(double));
  auto sampled = input_.policy->sample(forward_input(states), {}, row_M, uniform_M, sampling_);
  sampled = {sampled.token_M.cpu(), sampled.logprob_M.cpu(), sampled.confidence_M.cpu(), {}};

  std::int64_t offset = 0;
  for (const auto& state : states) {
    const auto masked = masked_of_block(*state.front());
    for (Row* row : state) {
      commit(*row, masked, sampled, offset);
      offset += static_cast<std::int64_t>(masked.size());
    }
  }
}

std::vector<float> BlockDecoder::scores(const Row& row, const std::vector<std::int64_t>& masked,
                                        const SampledTokens& sampled, std::int64_t offset) const {
  std::vector<float> score(masked.size());
  for (std::size_t m = 0; m < masked.size(); ++m) {
    if (settings_.remasking == Remasking::kRandom) {
      score[m] = static_cast<float>(
          remasking_random_.uniform({input_.step, input_.first_sample + row.index, masked[m], row.forwards}));
    } else {
      score[m] = sampled.confidence_M.const_data_ptr<float>()[offset + static_cast<std::int64_t>(m)];
    }
  }
  return score;
}

void BlockDecoder::commit(Row& row, const std::vector<std::int64_t>& masked, const SampledTokens& sampled,
                          std::int64_t offset) {
  const auto score = scores(row, masked, sampled, offset);
  for (const float value : score) {
    if (std::isnan(value)) {
      throw Error("the model's logits are not finite at denoising step " + std::to_string(row.forwards) +
                      " of response " + std::to_string(row.index),
                  "the weights have diverged: go back to an earlier checkpoint with a lower learning rate");
    }
  }
  // Surest first; equal scores in the order of positions.
  std::vector<std::size_t> order(masked.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });

  std::size_t commits = 0;
  if (settings_.dynamic) {
    while (commits < order.size() && score[order[commits]] >= settings_.threshold) ++commits;
    commits = std::max<std::size_t>(commits, 1);
  } else {
    const std::int64_t blocks = settings_.length / settings_.block;
    const std::int64_t steps =
        std::min(steps_of_block(settings_.steps, blocks, row.block_start / settings_.block), row.block_masked);
    commits = static_cast<std::size_t>(scheduled_commits(row.block_masked, steps, row.block_forwards));
  }
  for (std::size_t c = 0; c < commits; ++c) {
    const auto position = static_cast<std::size_t>(masked[order[c]]);
    const std::int64_t draw = offset + static_cast<std::int64_t>(order[c]);
    row.tokens[position] = sampled.token_M.const_data_ptr<std::int64_t>()[draw];
    row.logprob[position] = sampled.logprob_M.const_data_ptr<float>()[draw];
    row.step[position] = static_cast<std::int32_t>(row.forwards);
  }
  ++row.forwards;
  ++row.block_forwards;
  if (commits == masked.size()) {
    row.block_start += settings_.block;
    row.block_forwards = 0;
    row.block_masked = settings_.block;
  }
}

}  // namespace drift::block
