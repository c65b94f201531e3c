#include <core/python/structures.h>

#include <core/python/tensors.h>

#include <array>

namespace drift::python {
namespace {

// Each field once, for both directions.
template <class Plan>
auto tensors_of(Plan& plan) {
  return std::array{&plan.response_F,      &plan.term_F,        &plan.masked_FL,        &plan.target_FL,
                    &plan.committed_FL,    &plan.weight_F,      &plan.prompt_masked_FP, &plan.attended_FL,
                    &plan.token_weight_FL, &plan.target_step_FL};
}

template <class Responses>
auto tensors_of_responses(Responses& responses) {
  return std::array{&responses.prompts.tokens_BP, &responses.prompts.mask_BP, &responses.prompts.group_B,
                    &responses.tokens_BL,         &responses.valid_BL,        &responses.step_BL,
                    &responses.commit_logprob_BL, &responses.forwards_B};
}

template <class Tensors>
std::vector<Object> wrapped_all(const Tensors& tensors) {
  std::vector<Object> fields;
  for (const at::Tensor* tensor : tensors) fields.push_back(wrapped(*tensor));
  return fields;
}

template <class Tensors>
std::int64_t unwrap_all(const Object& fields, const Tensors& tensors) {
  std::int64_t next = 0;
  for (at::Tensor* tensor : tensors) *tensor = unwrapped(fields[next++]);
  return next;
}

}  // namespace

Object fields_of(const MaskPlan& plan) {
  auto fields = wrapped_all(tensors_of(plan));
  for (const std::int64_t number :
       {plan.terms, static_cast<std::int64_t>(plan.block_origin), static_cast<std::int64_t>(plan.first_of_block)})
    fields.push_back(integer(number));
  return tuple(std::move(fields));
}

MaskPlan plan_in(const Object& fields, at::Device device) {
  MaskPlan plan;
  const std::int64_t numbers = unwrap_all(fields, tensors_of(plan));
  for (at::Tensor* tensor : tensors_of(plan)) {
    if (tensor->defined() && tensor->device() != device) *tensor = tensor->to(device);
  }
  plan.terms = fields[numbers].integer();
  plan.block_origin = static_cast<BlockOrigin>(fields[numbers + 1].integer());
  plan.first_of_block = static_cast<FirstOfBlock>(fields[numbers + 2].integer());
  return plan;
}

Object fields_of(const Trajectories& trajectories) { return tuple(wrapped_all(tensors_of_responses(trajectories))); }

Trajectories trajectories_in(const Object& fields) {
  Trajectories trajectories;
  unwrap_all(fields, tensors_of_responses(trajectories));
  return trajectories;
}

}  // namespace drift::python
