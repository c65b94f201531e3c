#include "plan_builder.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace drift::rldf {
namespace {

template <class T>
at::Tensor to_tensor(const std::vector<T>& values, at::IntArrayRef shape, at::ScalarType type) {
  // from_blob wants a mutable pointer; the clone is what leaves this function.
  return at::from_blob(const_cast<T*>(values.data()), shape, at::TensorOptions().dtype(type)).clone();
}

}  // namespace

Responses::Responses(const Trajectories& trajectories)
    : valid_(trajectories.valid_BL.contiguous()),
      step_(trajectories.step_BL.contiguous()),
      commit_logprob_(trajectories.commit_logprob_BL.contiguous()) {}

Response Responses::operator[](std::int64_t b) const {
  const std::int64_t row = b * length();
  return {valid_.const_data_ptr<bool>() + row, step_.const_data_ptr<std::int32_t>() + row,
          commit_logprob_.const_data_ptr<float>() + row};
}

void PlanBuilder::begin_view(std::int64_t sample, std::int64_t forward, std::int64_t step) {
  sample_.push_back(sample);
  forward_.push_back(forward);
  step_.push_back(step);
  weight_.push_back(1);
  for (auto* rows : {&masked_, &target_, &committed_})
    rows->resize(rows->size() + static_cast<std::size_t>(length_), 0);
}

void PlanBuilder::score(std::int64_t position, bool committed) {
  target_[offset() + position] = true;
  committed_[offset() + position] = committed;
}

MaskPlan PlanBuilder::finish(std::int64_t forwards) const {
  const auto views = static_cast<std::int64_t>(sample_.size());
  MaskPlan plan;
  plan.sample_F = to_tensor(sample_, {views}, at::kLong);
  plan.forward_F = to_tensor(forward_, {views}, at::kLong);
  plan.step_F = to_tensor(step_, {views}, at::kLong);
  plan.masked_FL = to_tensor(masked_, {views, length_}, at::kBool);
  plan.target_FL = to_tensor(target_, {views, length_}, at::kBool);
  plan.committed_FL = to_tensor(committed_, {views, length_}, at::kBool);
  const bool weighted = std::any_of(weight_.begin(), weight_.end(), [](float weight) { return weight != 1; });
  if (weighted) plan.weight_F = to_tensor(weight_, {views}, at::kFloat);
  plan.forwards = forwards;
  return plan;
}

}  // namespace drift::rldf
