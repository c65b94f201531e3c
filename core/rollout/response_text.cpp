#include <core/rollout/response_text.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <span>

namespace drift {

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

std::string written_text(std::span<const std::int64_t> ids, const Tokenizer& tokenizer, bool skip_special) {
  std::string text;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i;
    while (end < ids.size() && tokenizer.has_token(ids[end])) ++end;
    text += tokenizer.decode(ids.subspan(i, end - i), skip_special);
    if (end < ids.size()) text += "\uFFFD";
    i = end + 1;
  }
  return text;
}

std::string response_text(const Trajectories& trajectories, std::int64_t b, const Tokenizer& tokenizer) {
  const std::int64_t length = trajectories.tokens_BL.size(1);
  const std::int64_t* ids = trajectories.tokens_BL.const_data_ptr<std::int64_t>() + b * length;
  return written_text(std::span(ids, static_cast<std::size_t>(length)), tokenizer, /*skip_special=*/true);
}

}  // namespace drift
