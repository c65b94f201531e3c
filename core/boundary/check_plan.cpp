#include <core/boundary/checks.h>
#include <core/boundary/tensor_words.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/any.h>
#include <ATen/ops/isfinite.h>

namespace drift {
namespace {

constexpr const char* kPlanHint = "drift/mask_plan.h says what each field holds";

void require_of_plan(bool holds, const std::string& what) {
  if (!holds) throw Error("the plan is not valid: " + what, kPlanHint);
}

}  // namespace

// What a plugin's author gets wrong first: found here, by name, and not deep inside an indexing kernel.
void check_plan(const MaskingInput& input, MaskPlan& plan) {
  const Trajectories& responses = *input.trajectories;
  const std::int64_t length = responses.tokens_BL.size(1);
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
  require_if_defined("weight_F", plan.weight_F, at::kFloat, {views}, kPlanHint);
  require_if_defined("target_step_FL", plan.target_step_FL, at::kLong, {views, length}, kPlanHint);
  require_if_defined("token_weight_FL", plan.token_weight_FL, at::kFloat, {views, length}, kPlanHint);
  require_if_defined("prompt_masked_FP", plan.prompt_masked_FP, at::kBool, {views, responses.prompts.tokens_BP.size(1)},
                     kPlanHint);
  require_of_plan(plan.terms >= 1, "terms (K) must be at least 1");
  if (views == 0) return;
  require_of_plan(plan.response_F.min().item<std::int64_t>() >= 0 &&
                      plan.response_F.max().item<std::int64_t>() < responses.tokens_BL.size(0),
                  "response_F points beyond the responses");
  require_of_plan(plan.term_F.min().item<std::int64_t>() >= 0 && plan.term_F.max().item<std::int64_t>() < plan.terms,
                  "term_F must be in [0, terms)");
  require_of_plan(!plan.weight_F.defined() || at::isfinite(plan.weight_F).all().item<bool>(),
                  "weight_F must be finite");
  require_of_plan(!plan.token_weight_FL.defined() || at::isfinite(plan.token_weight_FL).all().item<bool>(),
                  "token_weight_FL must be finite");
  require_of_plan(plan.target_FL.any().item<bool>(), "no view scores a position");
}

}  // namespace drift
