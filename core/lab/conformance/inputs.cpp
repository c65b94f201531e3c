#include <core/lab/conformance/inputs.h>

#include <core/boundary/checked.h>
#include <core/update/policy_gradient.h>
#include <core/update/update_batch.h>

#include <drift/plan_builder.h>
#include <drift/random.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>

namespace drift {
namespace {

const RandomStream& stream() {
  static const RandomStream made(5, "conformance");
  return made;
}

/// Valid tokens of response b.
std::int64_t written(Responded responded, std::int64_t b) {
  if (responded == Responded::kAllEmpty) return 0;
  if (responded == Responded::kEmpty && (b % 2 == 1 || b == 0)) return 0;
  return b % 3 == 2 ? kResponseLength - 2 - b / 3 : kResponseLength;
}

/// Two forwards of every response; a view masks and scores what `masks` says.
MaskPlan made_up_plan(Viewed viewed, const Trajectories& responses) {
  PlanBuilder builder(kResponseLength, kPromptLength);
  const bool all = viewed == Viewed::kAllMasked;
  const bool* const valid_BL = responses.valid_BL.const_data_ptr<bool>();
  const RandomStream random = stream().child("plan");
  for (std::int64_t k = 0; k < 2; ++k) {
    for (std::int64_t b = 0; b < kResponses; ++b) {
      const bool is_empty = viewed == Viewed::kEmpty && b == 1;
      if (viewed == Viewed::kEmpty && b == 4) continue;  // has no view
      builder.begin_view(b, k);
      if (viewed != Viewed::kPlain) builder.weigh(0.5 + 0.25 * static_cast<double>(b % 3));
      for (std::int64_t p = 0; all && p < kPromptLength; ++p) builder.mask_prompt(p);
      for (std::int64_t i = 0; i < kResponseLength && !is_empty; ++i) {
        if (!all && random.uniform({k, b, i, 0}) < 0.5) continue;
        builder.mask(i);
        const bool committed = viewed == Viewed::kPlain || random.uniform({k, b, i, 1}) < 0.5;
        if (all || valid_BL[b * kResponseLength + i]) builder.score(i, committed);
      }
    }
  }
  MaskPlan plan = builder.finish(2);
  if (viewed == Viewed::kPlain) plan.committed_FL = plan.weight_F = plan.prompt_masked_FP = at::Tensor();
  return plan;
}

}  // namespace

at::Tensor made_up_numbers(const std::string& name, at::IntArrayRef sizes, double low, double high) {
  const RandomStream random = stream().child(name);
  at::Tensor made = at::empty(sizes, at::kDouble);
  double* const values = made.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < made.numel(); ++i) values[i] = low + (high - low) * random.uniform({0, 0, i, 0});
  return made;
}

Prompts made_up_prompts(std::int64_t length) {
  Prompts prompts;
  prompts.group_B = at::arange(kResponses, at::kLong).div(kGroupSize, "floor");
  prompts.tokens_BP =
      (prompts.group_B.unsqueeze(1) * 5 + at::arange(length, at::kLong)).remainder(kVocabulary - 3).add(2);
  prompts.mask_BP = at::ones({kResponses, length}, at::kBool);
  if (length > 1) {
    prompts.tokens_BP.narrow(0, 0, kGroupSize).select(1, 0).fill_(kPadId);
    prompts.mask_BP.narrow(0, 0, kGroupSize).select(1, 0).fill_(false);
  }
  return prompts;
}

Trajectories made_up_trajectories(Responded responded) {
  Trajectories made;
  made.prompts = made_up_prompts(kPromptLength);
  made.tokens_BL = at::full({kResponses, kResponseLength}, kPadId, at::kLong);
  made.step_BL = at::zeros({kResponses, kResponseLength}, at::kInt);
  made.commit_logprob_BL = -made_up_numbers("commit", {kResponses, kResponseLength}, 0.01, 3).to(at::kFloat);
  made.forwards_B = at::full({kResponses}, kResponseLength / 2, at::kLong);
  auto* const tokens_BL = made.tokens_BL.mutable_data_ptr<std::int64_t>();
  auto* const step_BL = made.step_BL.mutable_data_ptr<std::int32_t>();
  for (std::int64_t b = 0; b < kResponses; ++b) {
    for (std::int64_t i = 0; i < kResponseLength; ++i) {
      const std::int64_t at = b * kResponseLength + i;
      // Two tokens a step, of which the right one may come before the left.
      step_BL[at] = static_cast<std::int32_t>((i ^ (b % 2)) / 2);
      if (i < written(responded, b)) tokens_BL[at] = 2 + stream().below(kVocabulary - 2, {1, b, i, 0});
      if (responded == Responded::kUnfinished && i == kResponseLength - 1 - b) {
        tokens_BL[at] = kPadId;
        step_BL[at] = -1;
      }
    }
  }
  made.valid_BL = made.tokens_BL != kPadId;
  made.commit_logprob_BL = at::where(made.step_BL >= 0, made.commit_logprob_BL, at::zeros_like(made.commit_logprob_BL));
  return made;
}

MaskingInput made_up_masking_input(const Trajectories& trajectories, std::uint64_t seed, std::int64_t step) {
  MaskingInput input;
  input.trajectories = &trajectories;
  input.random = RandomStream(seed, "masks");
  input.step = step;
  input.response_number_B = at::arange(kResponses, at::kLong);
  input.end_id = kEndId;
  input.pad_id = kPadId;
  return input;
}

LossInput made_up_loss_input(const LossEstimator& loss, Viewed viewed, at::ScalarType dtype, double spread) {
  const Trajectories responses = made_up_trajectories(Responded::kUsual);
  LossInput input;
  input.plan = made_up_plan(viewed, responses);
  const at::Tensor& target_FL = input.plan.target_FL;
  const auto scored = [&](const at::Tensor& values_FL) {
    return at::where(target_FL, values_FL, at::zeros_like(values_FL)).to(dtype);
  };
  const at::Tensor current_FL = -made_up_numbers("current", target_FL.sizes(), 0.05, 3);
  const auto beside = [&](const char* name) {
    return scored((current_FL + made_up_numbers(name, target_FL.sizes(), -spread, spread)).clamp_max(-1e-3));
  };
  const LossNeeds needs = checked_needs(loss);
  input.log_probs.current_FL = scored(current_FL);
  if (needs.old) input.log_probs.old_FL = beside("old");
  if (needs.reference) input.log_probs.reference_FL = beside("reference");
  if (needs.entropy) input.log_probs.entropy_FL = scored(made_up_numbers("entropy", target_FL.sizes(), 0.1, 2.5));
  if (needs.entropy && needs.reference)
    input.log_probs.reference_entropy_FL = scored(made_up_numbers("reference entropy", target_FL.sizes(), 0.1, 2.5));
  // They do not add up to 0, not even in a group: else nothing would show that a loss counts responses twice.
  input.advantage_B = at::tensor({0.9, -0.6, 0.25, -0.45, 0.0, 0.3}, at::kDouble).to(dtype);
  input.valid_BL = responses.valid_BL;
  input.totals = batch_totals(input.plan, kResponses, kGroupSize, /*optimizer_steps=*/2);
  input.scored_B = scored_positions(input.plan, kResponses);
  return input;
}

LossInput extreme_loss_input(const LossEstimator& loss) {
  LossInput input = made_up_loss_input(loss, Viewed::kUsual, at::kFloat);
  const at::Tensor target_FL = input.plan.target_FL;
  const std::array<float, 4> extremes = {0, -1e-6F, -30, -100};
  const auto every = [&](std::int64_t period) {
    const at::Tensor which = at::arange(target_FL.numel(), at::kLong).div(period, "floor").remainder(4);
    const at::Tensor values_FL = at::tensor(at::ArrayRef<float>(extremes)).index_select(0, which).view_as(target_FL);
    return at::where(target_FL, values_FL, at::zeros_like(values_FL));
  };
  input.log_probs.current_FL = every(1);
  if (input.log_probs.old_FL.defined()) input.log_probs.old_FL = every(4);
  if (input.log_probs.reference_FL.defined()) input.log_probs.reference_FL = every(16);
  return input;
}

LossInput selected_views(const LossInput& input, const std::vector<std::int64_t>& views) {
  const at::Tensor view_V = at::tensor(at::ArrayRef<std::int64_t>(views), at::kLong);
  LossInput selected = input;
  selected.plan = select_views(input.plan, views, at::kCPU);
  LogProbs& log_probs = selected.log_probs;
  for (at::Tensor* tensor : {&log_probs.current_FL, &log_probs.old_FL, &log_probs.reference_FL, &log_probs.entropy_FL,
                             &log_probs.reference_entropy_FL}) {
    if (tensor->defined()) *tensor = tensor->index_select(0, view_V);
  }
  return selected;
}

std::vector<std::string> made_up_responses() {
  std::string all_bytes;
  for (int byte = 1; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  return {"",
          "\n",
          "42",
          "<answer>42</answer>",
          "The answer is \\boxed{42}.",
          "\\boxed{",
          "<answer>",
          "```python\ndef f(x):\n    return x + 1\n```",
          "1234341221434321",
          "(3 + 7) * 2 - 1",
          std::string("a\0b", 3),
          all_bytes,
          "\xff\xfe half of a character: \xe2\x82",
          std::string(20000, '('),
          std::string(5000, '9') + "/" + std::string(5000, '0')};
}

}  // namespace drift
