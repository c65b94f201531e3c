#include <core/train/gradient_sum.h>

#include <ATen/OpMathType.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift {
namespace {

void add(at::Tensor& sum, const at::Tensor& gradient) {
  if (sum.defined()) {
    sum.add_(gradient);
  } else {
    // Autograd may give one tensor to two parameters: then it cannot be added to in place.
    const bool shared = gradient.use_count() > 1;
    sum = gradient.to(at::toOpMathType(gradient.scalar_type()), /*non_blocking=*/false, /*copy=*/shared);
  }
}

}  // namespace

GradientSum::GradientSum(std::vector<at::Tensor> parameters, std::int64_t workers)
    : parameters_(std::move(parameters)),
      shares_(static_cast<std::size_t>(workers), std::vector<at::Tensor>(parameters_.size())) {}

void GradientSum::backward(std::int64_t worker, const std::vector<at::Tensor>& outputs,
                           const std::vector<at::Tensor>& output_gradients) {
  // torch::autograd::grad, not backward(): .grad is one place for all threads, and the order of additions into it is
  // not fixed.
  auto gradients = torch::autograd::grad(outputs, parameters_, output_gradients, /*retain_graph=*/std::nullopt,
                                         /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (gradients[p].defined()) add(shares_[static_cast<std::size_t>(worker)][p], gradients[p]);
    gradients[p] = at::Tensor();  // its memory may be the next sum's
  }
}

std::vector<at::Tensor> GradientSum::take_total() {
  std::vector<at::Tensor> sums(parameters_.size());
  for (std::size_t p = 0; p < sums.size(); ++p) {
    for (auto& share : shares_) {
      if (share[p].defined()) add(sums[p], share[p]);
      share[p] = at::Tensor();
    }
    if (!sums[p].defined())
      sums[p] = at::zeros_like(parameters_[p], at::toOpMathType(parameters_[p].scalar_type())).detach();
  }
  return sums;
}

}  // namespace drift
