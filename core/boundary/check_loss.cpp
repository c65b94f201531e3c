#include <core/base/component_host.h>
#include <core/boundary/checks.h>
#include <core/boundary/tensor_words.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/any.h>
#include <ATen/ops/isfinite.h>

#include <cmath>

namespace drift {
namespace {

constexpr const char* kLossHint = "drift/loss_estimator.h says what a loss gives back";

bool is_number(const at::Tensor& tensor) { return tensor.defined() && tensor.numel() == 1; }

}  // namespace

void check_loss(const LossInput& input, const Loss& loss) {
  if (!loss.value.defined() || loss.value.dim() != 0 || !at::isFloatingType(loss.value.scalar_type()))
    throw Error("the loss must be one floating-point number (0-d), not " + tensor_words(loss.value), kLossHint);
  const at::Tensor& current_FL = input.log_probs.current_FL;
  const double value = loss.value.item<double>();
  if (!std::isfinite(value) && at::isfinite(current_FL).all().item<bool>())
    throw Error("the loss is " + std::to_string(value) + ", and all log-probabilities are finite",
                "bound what exp() and log() are taken of: clamp a log-ratio, add to a divisor");
  // Where nothing is to be learned of these views, a loss may be a plain 0.
  if (current_FL.requires_grad() && !loss.value.requires_grad() && value != 0)
    throw Error("the loss does not depend on log_probs.current_FL: it has no gradient",
                "no detach() and no item() between the log-probabilities and the value");
  for (const LossMetric& metric : loss.metrics) {
    check_metric_name(metric.name);
    if (!is_number(metric.sum) || !is_number(metric.count))
      throw Error("metric `" + metric.name + "` must be two numbers (0-d), not " + tensor_words(metric.sum) + " and " +
                      tensor_words(metric.count),
                  kLossHint);
  }
}

}  // namespace drift
