#include <core/train/prompt_batch.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace drift {

Prompts make_prompts(const std::vector<TaskItem>& items, const Tokenizer& tokenizer, std::int64_t group_size,
                     std::int64_t pad_id, std::int64_t response_length, std::int64_t context_length) {
  std::vector<std::vector<std::int64_t>> encoded;
  std::size_t longest = 0;
  for (const TaskItem& item : items) {
    encoded.push_back(tokenizer.encode(item.prompt));
    longest = std::max(longest, encoded.back().size());
    if (static_cast<std::int64_t>(encoded.back().size()) + response_length > context_length) {
      throw Error("the prompt of item `" + item.id + "` has " + std::to_string(encoded.back().size()) +
                      " tokens; with " + std::to_string(response_length) +
                      " of the response that is more than the model's context of " + std::to_string(context_length),
                  "shorten rollout.length or filter the task's items");
    }
  }
  const auto rows = static_cast<std::int64_t>(items.size()) * group_size, width = static_cast<std::int64_t>(longest);
  Prompts prompts;
  prompts.tokens_BP = at::full({rows, width}, pad_id, at::kLong);
  prompts.mask_BP = at::zeros({rows, width}, at::kBool);
  prompts.group_B = at::empty({rows}, at::kLong);
  for (std::int64_t b = 0; b < rows; ++b) {
    const auto& ids = encoded[static_cast<std::size_t>(b / group_size)];
    const std::int64_t padding = width - static_cast<std::int64_t>(ids.size());
    std::memcpy(prompts.tokens_BP.data_ptr<std::int64_t>() + b * width + padding, ids.data(),
                ids.size() * sizeof(std::int64_t));
    std::fill_n(prompts.mask_BP.data_ptr<bool>() + b * width + padding, ids.size(), true);
    prompts.group_B.data_ptr<std::int64_t>()[b] = b / group_size;
  }
  return prompts;
}

Prompts single_prompt(const std::vector<std::int64_t>& ids) {
  const auto width = static_cast<std::int64_t>(ids.size());
  Prompts prompts;
  prompts.tokens_BP = at::empty({1, width}, at::kLong);
  std::memcpy(prompts.tokens_BP.data_ptr(), ids.data(), ids.size() * sizeof(std::int64_t));
  prompts.mask_BP = at::full({1, width}, true, at::kBool);
  prompts.group_B = at::zeros({1}, at::kLong);
  return prompts;
}

Trajectories select_responses(const Trajectories& trajectories, const at::Tensor& index) {
  const auto take = [&](const at::Tensor& tensor) { return tensor.index_select(0, index); };
  Trajectories selected;
  selected.prompts = {take(trajectories.prompts.tokens_BP), take(trajectories.prompts.mask_BP),
                      take(trajectories.prompts.group_B)};
  selected.tokens_BL = take(trajectories.tokens_BL);
  selected.valid_BL = take(trajectories.valid_BL);
  selected.step_BL = take(trajectories.step_BL);
  selected.commit_logprob_BL = take(trajectories.commit_logprob_BL);
  selected.forwards_B = take(trajectories.forwards_B);
  return selected;
}

std::string response_text(const Trajectories& trajectories, std::int64_t b, const Tokenizer& tokenizer) {
  const std::int64_t length = trajectories.tokens_BL.size(1);
  const std::int64_t* ids = trajectories.tokens_BL.const_data_ptr<std::int64_t>() + b * length;
  return tokenizer.decode(std::span(ids, static_cast<std::size_t>(length)), true);
}

}  // namespace drift
