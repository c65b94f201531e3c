#include <drift/plan_builder.h>

#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace drift {
namespace {

template <class T>
at::Tensor to_tensor(const std::vector<T>& values, at::IntArrayRef shape, at::ScalarType type) {
  // from_blob wants a mutable pointer; the clone is what leaves this function.
  return at::from_blob(const_cast<T*>(values.data()), shape, at::TensorOptions().dtype(type)).clone();
}

void add_row(std::vector<std::uint8_t>& rows, std::int64_t length) {
  rows.resize(rows.size() + static_cast<std::size_t>(length), 0);
}

std::uint8_t& in_last_row(std::vector<std::uint8_t>& rows, std::int64_t length, std::int64_t position) {
  return rows[rows.size() - static_cast<std::size_t>(length - position)];
}

}  // namespace

Responses::Responses(const MaskingInput& input)
    : number_B_(input.sample_number_B.contiguous()),
      tokens_BL_(input.trajectories->tokens_BL.contiguous()),
      valid_BL_(input.trajectories->valid_BL.contiguous()),
      step_BL_(input.trajectories->step_BL.contiguous()),
      commit_logprob_BL_(input.trajectories->commit_logprob_BL.contiguous()),
      prompt_length_(input.trajectories->prompts.tokens_BP.size(1)) {}

std::int64_t Responses::size() const { return tokens_BL_.size(0); }
std::int64_t Responses::length() const { return tokens_BL_.size(1); }
std::int64_t Responses::prompt_length() const { return prompt_length_; }

Response Responses::operator[](std::int64_t b) const {
  const std::int64_t row = b * length();
  return {number_B_.const_data_ptr<std::int64_t>()[b], tokens_BL_.const_data_ptr<std::int64_t>() + row,
          valid_BL_.const_data_ptr<bool>() + row, step_BL_.const_data_ptr<std::int32_t>() + row,
          commit_logprob_BL_.const_data_ptr<float>() + row};
}

std::int64_t Responses::positions_through_end(std::int64_t b, std::int64_t end_id) const {
  const std::int64_t* begin = (*this)[b].tokens;
  const std::int64_t* end = begin + length();
  const std::int64_t* found = std::find(begin, end, end_id);
  return found == end ? length() : found - begin + 1;
}

PlanBuilder::PlanBuilder(std::int64_t length, std::int64_t prompt_length)
    : length_(length), prompt_length_(prompt_length) {}

void PlanBuilder::begin_view(std::int64_t sample, std::int64_t forward, std::int64_t step) {
  sample_.push_back(sample);
  forward_.push_back(forward);
  step_.push_back(step);
  weight_.push_back(1);
  for (auto* rows : {&masked_, &target_, &committed_, &hidden_}) add_row(*rows, length_);
  add_row(prompt_masked_, prompt_length_);
}

void PlanBuilder::mask(std::int64_t position) { in_last_row(masked_, length_, position) = 1; }

void PlanBuilder::mask_prompt(std::int64_t position) { in_last_row(prompt_masked_, prompt_length_, position) = 1; }

void PlanBuilder::hide(std::int64_t position) { in_last_row(hidden_, length_, position) = 1; }

void PlanBuilder::score(std::int64_t position, bool committed) {
  in_last_row(target_, length_, position) = 1;
  in_last_row(committed_, length_, position) = committed ? 1 : 0;
}

void PlanBuilder::weigh(double weight) { weight_.back() = static_cast<float>(weight); }

MaskPlan PlanBuilder::finish(std::int64_t forwards) const {
  const auto views = static_cast<std::int64_t>(sample_.size());
  const auto any = [](const std::vector<std::uint8_t>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](std::uint8_t one) { return one != 0; });
  };
  MaskPlan plan;
  plan.sample_F = to_tensor(sample_, {views}, at::kLong);
  plan.forward_F = to_tensor(forward_, {views}, at::kLong);
  plan.step_F = to_tensor(step_, {views}, at::kLong);
  plan.masked_FL = to_tensor(masked_, {views, length_}, at::kBool);
  plan.target_FL = to_tensor(target_, {views, length_}, at::kBool);
  plan.committed_FL = to_tensor(committed_, {views, length_}, at::kBool);
  const bool weighted = std::any_of(weight_.begin(), weight_.end(), [](float weight) { return weight != 1; });
  if (weighted) plan.weight_F = to_tensor(weight_, {views}, at::kFloat);
  if (any(prompt_masked_)) plan.prompt_masked_FP = to_tensor(prompt_masked_, {views, prompt_length_}, at::kBool);
  if (any(hidden_)) plan.hidden_FL = to_tensor(hidden_, {views, length_}, at::kBool);
  plan.forwards = forwards;
  return plan;
}

}  // namespace drift
