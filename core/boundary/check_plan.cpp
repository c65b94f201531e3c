#include <core/boundary/checks.h>
#include <core/boundary/tensor_words.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/any.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>

namespace drift {
namespace {

constexpr const char* kPlanHint = "drift/mask_plan.h says what each field holds";

void require_of_plan(bool holds, const std::string& what) {
  if (!holds) throw Error("the plan is not valid: " + what, kPlanHint);
}

}  // namespace

void check_views(MaskPlan& plan, std::int64_t responses, std::int64_t length, std::int64_t prompt,
                 at::ScalarType weights) {
  require_of_plan(plan.response_F.defined() && plan.response_F.dim() == 1, "response_F must be int64 [F]");
  const std::int64_t views = plan.response_F.size(0);
  const auto check = [&](const char* name, at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes) {
    require_tensor(name, tensor, type, sizes, at::kCPU, kPlanHint);
    tensor = tensor.contiguous();
  };
  check("response_F", plan.response_F, at::kLong, {views});
  check("term_F", plan.term_F, at::kLong, {views});
  check("masked_FL", plan.masked_FL, at::kBool, {views, length});
  check("target_FL", plan.target_FL, at::kBool, {views, length});
  require_if_defined("committed_FL", plan.committed_FL, at::kBool, {views, length}, kPlanHint);
  require_if_defined("attended_FL", plan.attended_FL, at::kBool, {views, length}, kPlanHint);
  require_if_defined("weight_F", plan.weight_F, weights, {views}, kPlanHint);
  require_if_defined("target_step_FL", plan.target_step_FL, at::kLong, {views, length}, kPlanHint);
  require_if_defined("token_weight_FL", plan.token_weight_FL, weights, {views, length}, kPlanHint);
  require_if_defined("prompt_masked_FP", plan.prompt_masked_FP, at::kBool, {views, prompt}, kPlanHint);
  require_of_plan(plan.terms >= 1, "terms (K) must be at least 1");
  const auto all_within = [&](const at::Tensor& number_F, std::int64_t end) {
    const at::ArrayRef<std::int64_t> numbers(number_F.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(views));
    return std::ranges::all_of(numbers, [&](std::int64_t number) { return number >= 0 && number < end; });
  };
  require_of_plan(all_within(plan.response_F, responses), "response_F points beyond the responses");
  require_of_plan(all_within(plan.term_F, plan.terms), "term_F must be in [0, terms)");
}

// What a plugin's author gets wrong first: found here, by name, and not deep inside an indexing kernel.
void check_plan(const MaskingInput& input, MaskPlan& plan) {
  const Trajectories& responses = *input.trajectories;
  check_views(plan, responses.tokens_BL.size(0), responses.tokens_BL.size(1), responses.prompts.tokens_BP.size(1));
  if (plan.response_F.size(0) == 0) return;
  require_of_plan(!plan.weight_F.defined() || at::isfinite(plan.weight_F).all().item<bool>(),
                  "weight_F must be finite");
  require_of_plan(!plan.token_weight_FL.defined() || at::isfinite(plan.token_weight_FL).all().item<bool>(),
                  "token_weight_FL must be finite");
  require_of_plan(plan.target_FL.any().item<bool>(), "no view scores a position");
}

}  // namespace drift
