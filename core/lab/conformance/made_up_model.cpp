#include <core/lab/conformance/made_up_model.h>

#include <core/lab/conformance/inputs.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

namespace drift {
namespace {

constexpr std::int64_t kHidden = 8;

// States are in double precision: a sum over more padding rounds differently, and in float32 that now and then turns
// the order of two nearly equal confidences, so that a rollout which keeps every rule would write another response.

/// What stands at every position of every row, so that a window can replace some.
class States final : public KeyValueCache {
 public:
  explicit States(at::Tensor state_BSH) : state_BSH(std::move(state_BSH)) {}
  std::int64_t bytes() const override { return static_cast<std::int64_t>(state_BSH.nbytes()); }
  std::unique_ptr<KeyValueCache> select(const at::Tensor& row_R) const override {
    return std::make_unique<States>(state_BSH.index_select(0, row_R));
  }

  at::Tensor state_BSH;
};

}  // namespace

MadeUpModel::MadeUpModel(at::ScalarType dtype) {
  traits_.family = "made up";
  traits_.vocabulary_size = kVocabulary;
  traits_.hidden_size = kHidden;
  traits_.layers = 1;
  traits_.context_length = 1 << 20;
  traits_.mask_id = kMaskId;
  traits_.pad_id = kPadId;
  traits_.end_id = kEndId;
  traits_.forbidden_output_ids = {{kMaskId, kMaskId + 1}};
  token_VH_ = made_up_numbers("token", {kVocabulary, kHidden}, -2, 2).to(dtype);
  head_VH_ = made_up_numbers("head", {kVocabulary, kHidden}, -2, 2).to(dtype);
}

at::Tensor MadeUpModel::forward(const ForwardInput& input) const {
  States nothing(at::zeros({input.tokens_BS.size(0), input.tokens_BS.size(1), kHidden}, at::kDouble));
  CacheWindow all;
  all.begin_B = at::zeros({input.tokens_BS.size(0)}, at::kLong);
  all.key_mask_BS = input.key_mask_BS;
  return forward_window(input, all, nothing);
}

std::int64_t MadeUpModel::training_bytes_per_row(std::int64_t sequence) const { return sequence * kHidden * 64; }

std::unique_ptr<KeyValueCache> MadeUpModel::make_cache(std::int64_t rows, std::int64_t positions) const {
  return std::make_unique<States>(at::zeros({rows, positions, kHidden}, at::kDouble));
}

// tanh(state + mean of the attended states), where the state of a token is its own and that of its position, counted
// from the row's first kept token.
at::Tensor MadeUpModel::forward_window(const ForwardInput& input, const CacheWindow& window,
                                       KeyValueCache& cache) const {
  at::Tensor& all_BSH = static_cast<States&>(cache).state_BSH;
  const std::int64_t width = input.tokens_BS.size(1), positions = all_BSH.size(1);
  const at::Tensor kept_BS = window.key_mask_BS.defined() ? window.key_mask_BS.narrow(1, 0, positions)
                                                          : at::ones({all_BSH.size(0), positions}, at::kBool);
  const at::Tensor place_BW = window.begin_B.unsqueeze(1) + at::arange(width, at::kLong);
  const at::Tensor position_BW = (kept_BS.to(at::kLong).cumsum(1) - 1).clamp_min(0).gather(1, place_BW);
  const at::Tensor frequency_H = at::arange(1, kHidden + 1, at::kDouble);
  const at::Tensor where_BWH = at::sin(position_BW.unsqueeze(2).to(at::kDouble) * frequency_H * 0.37);
  const at::Tensor state_BWH = at::embedding(token_VH_, input.tokens_BS).to(at::kDouble) + 0.5 * where_BWH;
  all_BSH.scatter_(1, place_BW.unsqueeze(2).expand({-1, -1, kHidden}), state_BWH);

  at::Tensor attended_BS = kept_BS;
  if (window.attended_B.defined())
    attended_BS = attended_BS & (at::arange(positions, at::kLong) < window.attended_B.unsqueeze(1));
  const at::Tensor weight_BS1 = attended_BS.to(at::kDouble).unsqueeze(2);
  const at::Tensor mean_B1H = (all_BSH * weight_BS1).sum(1, /*keepdim=*/true) / weight_BS1.sum(1, true).clamp_min(1);
  const at::Tensor hidden_NH = at::tanh(state_BWH + mean_B1H).reshape({-1, kHidden}).to(dtype());
  return input.rows_N.defined() ? hidden_NH.index_select(0, input.rows_N) : hidden_NH;
}

}  // namespace drift
