#include <core/plugin/pure_component.h>

#include <drift/loss_estimator.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <deque>

namespace drift {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A number whose gradients are known: those by `variables`.
struct KnownGradients : torch::autograd::Function<KnownGradients> {
  static at::Tensor forward(AutogradContext* context, at::TensorList variables, double value,
                            const variable_list& gradients) {
    context->save_for_backward(gradients);
    return at::scalar_tensor(value, variables[0].options());
  }
  static variable_list backward(AutogradContext* context, const variable_list& given) {
    variable_list gradients = context->get_saved_variables();
    for (at::Tensor& gradient : gradients) gradient = gradient * given[0];
    gradients.resize(gradients.size() + 2);  // none by the value and by the gradients
    return gradients;
  }
};

/// The arrays that a loss is lent, and the tensors that hold them.
class LossArrays {
 public:
  explicit LossArrays(const LossInput& in) {
    const at::NoGradGuard no_gradient;  // not detach(), by which a loss says that a gradient is meant to be missing
    const MaskPlan& plan = in.plan;
    input.size = sizeof input;
    input.views = plan.target_FL.size(0);
    input.length = plan.target_FL.size(1);
    input.responses = in.advantage_B.size(0);
    input.current_FL = numbers(in.log_probs.current_FL);
    input.old_FL = numbers(in.log_probs.old_FL);
    input.reference_FL = numbers(in.log_probs.reference_FL);
    input.entropy_FL = numbers(in.log_probs.entropy_FL);
    input.reference_entropy_FL = numbers(in.log_probs.reference_entropy_FL);
    input.response_F = integers(plan.response_F);
    input.term_F = integers(plan.term_F);
    input.masked_FL = truths(plan.masked_FL);
    input.target_FL = truths(plan.target_FL);
    input.committed_FL = truths(plan.committed_FL.defined() ? plan.committed_FL : plan.target_FL);
    input.attended_FL = truths(plan.attended_FL.defined() ? plan.attended_FL : at::ones_like(plan.target_FL));
    input.weight_F = numbers(plan.weight_F.defined() ? plan.weight_F : at::ones({input.views}, at::kDouble));
    input.prompt_masked_FP = truths(plan.prompt_masked_FP);
    input.prompt_length = plan.prompt_masked_FP.defined() ? plan.prompt_masked_FP.size(1) : 0;
    input.advantage_B = numbers(in.advantage_B);
    input.advantage_BL =
        numbers(in.advantage_BL.defined() ? in.advantage_BL
                                          : in.advantage_B.unsqueeze(1).expand({input.responses, input.length}));
    input.valid_BL = truths(in.valid_BL);
    input.scored_B = integers(in.scored_B);
    input.total_responses = in.totals.responses;
    input.group_size = in.totals.group_size;
    input.terms = in.totals.terms;
    input.total_targets = std::max<std::int64_t>(in.totals.targets, 1);
    input.optimizer_steps = in.totals.optimizer_steps;
    input.total_views = in.totals.views;
  }

  DriftLossInput input{};

 private:
  const at::Tensor& kept(const at::Tensor& tensor, at::ScalarType type) {
    return kept_.emplace_back(tensor.to(at::kCPU, type).contiguous());
  }
  const double* numbers(const at::Tensor& tensor) {
    return tensor.defined() ? kept(tensor, at::kDouble).const_data_ptr<double>() : nullptr;
  }
  const std::int64_t* integers(const at::Tensor& tensor) {
    return tensor.defined() ? kept(tensor, at::kLong).const_data_ptr<std::int64_t>() : nullptr;
  }
  const std::uint8_t* truths(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<const std::uint8_t*>(kept(tensor, at::kBool).const_data_ptr()) : nullptr;
  }

  std::deque<at::Tensor> kept_;
};

class PureLoss final : public LossEstimator {
 public:
  PureLoss(std::shared_ptr<const PureKind> kind, const ComponentContext& context, const DriftLoss& functions)
      : object_(std::move(kind), context), functions_(functions) {}

  Coupling coupling() const override { return static_cast<Coupling>(functions_.coupling(object_.self())); }

  void needs(LossNeeds& needs) const override {
    if (functions_.needs == nullptr) return;
    const std::uint32_t bits = functions_.needs(object_.self());
    needs.old = (bits & DRIFT_NEEDS_OLD) != 0;
    needs.reference = (bits & DRIFT_NEEDS_REFERENCE) != 0;
    needs.entropy = (bits & DRIFT_NEEDS_ENTROPY) != 0;
  }

  Loss evaluate(const LossInput& in) const override {
    const LossArrays arrays(in);
    const at::Tensor& current_FL = in.log_probs.current_FL;
    variable_list variables = {current_FL}, gradients;
    if (in.log_probs.entropy_FL.defined()) variables.push_back(in.log_probs.entropy_FL);
    for (std::size_t i = 0; i < variables.size(); ++i) gradients.push_back(at::zeros(current_FL.sizes(), at::kDouble));
    DriftLossResult result{sizeof(DriftLossResult), 0, gradients[0].mutable_data_ptr<double>(),
                           gradients.size() > 1 ? gradients[1].mutable_data_ptr<double>() : nullptr};
    Loss loss;
    HostCall call(object_.host());
    call.take_metric = [&](std::string_view name, double sum, double count) {
      loss.metrics.push_back(
          {std::string(name), at::scalar_tensor(sum, at::kDouble), at::scalar_tensor(count, at::kDouble)});
    };
    call.finish(functions_.evaluate(&call, object_.self(), &arrays.input, &result), "evaluate()");

    for (at::Tensor& gradient : gradients) {
      gradient = gradient.to(current_FL.options().requires_grad(false));
      gradient = at::where(in.plan.target_FL, gradient, at::zeros_like(gradient));
    }
    loss.value = KnownGradients::apply(at::TensorList(variables), result.value, gradients);
    return loss;
  }

 private:
  PureObject object_;
  DriftLoss functions_;
};

}  // namespace

std::unique_ptr<Component> make_pure(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
                                     const DriftLoss& functions) {
  return std::make_unique<PureLoss>(std::move(kind), context, functions);
}

}  // namespace drift
