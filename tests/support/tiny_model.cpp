#include "tests/support/tiny_model.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/tanh.h>

namespace drift::test {

TinyModel::TinyModel(std::int64_t vocabulary, std::int64_t hidden, at::ScalarType type, PredictionRow row) {
  constexpr std::int64_t kContext = 64;
  const auto parameter = [&](at::IntArrayRef shape) { return at::zeros(shape, type).set_requires_grad(true); };
  embedding_VH_ = parameter({vocabulary, hidden});
  position_SH_ = parameter({kContext, hidden});
  mix_HH_ = parameter({hidden, hidden});
  head_VH_ = parameter({vocabulary, hidden});
  traits_.family = "tiny";
  traits_.vocabulary_size = vocabulary;
  traits_.hidden_size = hidden;
  traits_.layers = 1;
  traits_.context_length = kContext;
  traits_.mask_id = 1;
  traits_.pad_id = 0;
  traits_.end_id = 0;
  traits_.prediction_row = row;
  traits_.forbidden_output_ids = {{1, 2}};
  initialize(RandomStream(1, "tiny"));
}

at::Tensor TinyModel::forward(const ForwardInput& input) const {
  const std::int64_t hidden = traits_.hidden_size;
  const auto embedded = at::embedding(embedding_VH_, input.tokens_BS);  // [B, S, H]
  auto keys = input.key_mask_BS.defined() ? input.key_mask_BS : at::ones_like(input.tokens_BS, at::kBool);
  const auto weight = keys.to(embedded.scalar_type()).unsqueeze(-1);
  const auto context = (embedded * weight).sum(1, true) / weight.sum(1, true);
  // Positions count from the first real token.
  const auto position = (keys.to(at::kLong).cumsum(1) - 1).clamp_min(0);
  auto x = at::tanh(embedded + at::embedding(position_SH_, position) + context.matmul(mix_HH_));
  x = x.reshape({-1, hidden});
  return input.rows_N.defined() ? x.index_select(0, input.rows_N) : x;
}

std::vector<NamedTensor> TinyModel::parameters() const {
  return {{"embedding", embedding_VH_}, {"position", position_SH_}, {"mix", mix_HH_}, {"head", head_VH_}};
}

void TinyModel::initialize(const RandomStream& random) {
  const at::NoGradGuard no_gradient;
  for (const auto& [name, tensor] : parameters()) {
    const auto stream = random.child(name);
    auto values = at::empty(tensor.sizes(), at::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i)
      values.data_ptr<double>()[i] = 2 * stream.uniform({0, 0, i, 0}) - 1;
    tensor.copy_(values);
  }
}

std::int64_t TinyModel::training_bytes_per_row(std::int64_t sequence) const {
  return sequence * traits_.hidden_size * 32;
}

Trajectories make_trajectories(std::int64_t responses, std::int64_t group_size, std::int64_t prompt,
                               std::int64_t length, std::int64_t vocabulary, std::int64_t padding) {
  const RandomStream random(5, "trajectories");
  Trajectories made;
  made.prompts.tokens_BP = at::empty({responses, prompt}, at::kLong);
  made.prompts.mask_BP = at::ones({responses, prompt}, at::kBool);
  made.prompts.group_B = at::arange(responses, at::kLong).div(group_size, "floor");
  made.tokens_BL = at::empty({responses, length}, at::kLong);
  made.step_BL = at::empty({responses, length}, at::kInt);
  made.commit_logprob_BL = at::empty({responses, length}, at::kFloat);
  made.forwards_B = at::zeros({responses}, at::kLong);
  for (std::int64_t b = 0; b < responses; ++b) {
    for (std::int64_t p = 0; p < prompt; ++p) {
      made.prompts.tokens_BP[b][p] = 2 + random.below(vocabulary - 2, {0, b / group_size, p, 0});
    }
    for (std::int64_t i = 0; i < length; ++i) {
      const bool is_padding = b % 2 == 1 && i >= length - padding;
      made.tokens_BL[b][i] = is_padding ? 0 : 2 + random.below(vocabulary - 2, {1, b, i, 0});
      made.step_BL[b][i] = i / 2;
      made.commit_logprob_BL[b][i] = std::log(0.05 + 0.95 * random.uniform({2, b, i, 0}));
    }
    made.forwards_B[b] = (length + 1) / 2;
  }
  made.valid_BL = made.tokens_BL != 0;
  return made;
}

}  // namespace drift::test
