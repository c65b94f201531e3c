#include <core/base/component_host.h>
#include <core/boundary/checks.h>
#include <core/boundary/tensor_words.h>
#include <core/io/safetensors_header.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/any.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace drift {
namespace {

constexpr const char* kLossHint = "drift/loss_estimator.h says what a loss gives back";

bool is_number(const at::Tensor& tensor) { return tensor.defined() && tensor.numel() == 1; }

/// In backticks, without the structure that holds it: other languages have others.
std::string field_name(const LossTensor& field) {
  const std::string_view name = field.name;
  return "`" + std::string(name.substr(name.find('.') + 1)) + "`";
}

bool fails(const LossEstimator& loss, const LossInput& input) {
  try {
    loss.evaluate(input);
  } catch (const std::exception&) {
    return true;
  }
  return false;
}

/// What a loss could be given for a tensor that is undefined.
at::Tensor stand_in(const LossTensor& field, const LossInput& input) {
  const std::string_view name = field.name;
  const at::Tensor& current_FL = input.log_probs.current_FL;
  if (name.ends_with("_BL")) return at::zeros(input.valid_BL.sizes(), current_FL.options().requires_grad(false));
  if (name == "plan.weight_F") return at::ones({current_FL.size(0)}, current_FL.options().requires_grad(false));
  if (name == "plan.token_weight_FL") return at::ones_like(current_FL.detach());
  if (name.starts_with("plan.")) return input.plan.target_FL;
  return at::zeros_like(current_FL.detach());
}

/// "`advantage_B` is [6], `current_FL` is [12, 8]": tensors with a size that the text names.
std::string sizes_named_in(const std::string& text, LossInput& input) {
  static const std::regex kNumber("[0-9]+");
  const std::size_t begin = std::min(text.find("size"), text.find("shape"));
  if (begin == std::string::npos) return {};
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  std::set<std::int64_t> named;
  for (std::sregex_iterator at(line.begin(), line.end(), kNumber), end; at != end; ++at)
    named.insert(std::atoll(at->str().c_str()));
  std::string words;
  for (const LossTensor& field : tensors_of(input)) {
    if (!field.tensor->defined()) continue;
    const at::IntArrayRef sizes = field.tensor->sizes();
    if (std::ranges::any_of(sizes, [&](std::int64_t size) { return named.contains(size); }))
      words += (words.empty() ? "" : ", ") + field_name(field) + " is " + shape_text(sizes);
  }
  return words;
}

}  // namespace

void check_loss(const LossInput& input, const Loss& loss) {
  if (!loss.value.defined() || loss.value.dim() != 0 || !at::isFloatingType(loss.value.scalar_type()))
    throw Error("the loss must be one floating-point number (0-d), not " + tensor_words(loss.value), kLossHint);
  const at::Tensor& current_FL = input.log_probs.current_FL;
  if (loss.value.is_cpu()) {
    const double value = loss.value.item<double>();
    check_loss_value(value, std::isfinite(value) || at::isfinite(current_FL).all().item<bool>(),
                     loss.value.requires_grad() || !current_FL.requires_grad());
  }
  for (const LossMetric& metric : loss.metrics) {
    check_metric_name(metric.name);
    if (!is_number(metric.sum) || !is_number(metric.count))
      throw Error("metric `" + metric.name + "` must be two numbers (0-d), not " + tensor_words(metric.sum) + " and " +
                      tensor_words(metric.count),
                  kLossHint);
  }
}

void check_loss_value(double value, bool finite_input, bool has_gradient) {
  if (!std::isfinite(value) && finite_input)
    throw Error("the loss is " + std::to_string(value) + ", and all log-probabilities are finite",
                "bound what exp() and log() are taken of: clamp a log-ratio, add to a divisor");
  // Where nothing is to be learned of these views, a loss may be a plain 0.
  if (!has_gradient && value != 0)
    throw Error("the loss does not depend on log_probs.current_FL: it has no gradient",
                "no detach() and no item() between the log-probabilities and the value");
}

std::vector<LossTensor> tensors_of(LossInput& input) {
  MaskPlan& plan = input.plan;
  LogProbs& log_probs = input.log_probs;
  return {{"plan.response_F", &plan.response_F},
          {"plan.term_F", &plan.term_F},
          {"plan.masked_FL", &plan.masked_FL},
          {"plan.target_FL", &plan.target_FL},
          {"plan.committed_FL", &plan.committed_FL},
          {"plan.attended_FL", &plan.attended_FL},
          {"plan.weight_F", &plan.weight_F},
          {"plan.token_weight_FL", &plan.token_weight_FL},
          {"plan.prompt_masked_FP", &plan.prompt_masked_FP},
          {"log_probs.current_FL", &log_probs.current_FL},
          {"log_probs.old_FL", &log_probs.old_FL},
          {"log_probs.reference_FL", &log_probs.reference_FL},
          {"log_probs.entropy_FL", &log_probs.entropy_FL},
          {"log_probs.reference_entropy_FL", &log_probs.reference_entropy_FL},
          {"advantage_B", &input.advantage_B},
          {"advantage_BL", &input.advantage_BL},
          {"valid_BL", &input.valid_BL},
          {"scored_B", &input.scored_B}};
}

Error with_tensors(const Error& thrown, const LossEstimator& loss, const LossInput& input) {
  LossInput changed = input;
  std::vector<LossTensor> missing = tensors_of(changed);
  std::erase_if(missing, [](const LossTensor& field) { return field.tensor->defined(); });
  for (const LossTensor& field : missing) *field.tensor = stand_in(field, input);
  if (missing.empty() || fails(loss, changed)) missing.clear();
  for (const LossTensor& field : missing) {
    const at::Tensor given = std::exchange(*field.tensor, at::Tensor());
    if (fails(loss, changed))
      return Error("it reads " + field_name(field) + ", which is undefined: " + thrown.what(),
                   "let `needs` ask for `old`, `reference` or `entropy`; other tensors may be undefined in a run");
    *field.tensor = given;
  }
  changed = input;
  return Error(thrown.what(), sizes_named_in(thrown.what(), changed));
}

}  // namespace drift
