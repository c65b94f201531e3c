#include <core/train/gradient_sum.h>

#include <ATen/OpMathType.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

namespace drift {
namespace {

at::ScalarType sum_type(const at::Tensor& tensor) { return at::toOpMathType(tensor.scalar_type()); }

/// Adds `gradient`, or makes it the sum: no reference to it is left behind.
void add_to(at::Tensor& sum, at::Tensor gradient) {
  if (gradient.is_sparse()) {  // of a table's looked-up rows
    if (!sum.defined())
      sum = at::zeros(gradient.sizes(), gradient.options().layout(at::kStrided).dtype(sum_type(gradient)));
    sum.index_add_(0, gradient._indices()[0], gradient._values().to(sum.scalar_type()));
  } else if (sum.defined()) {
    sum.add_(gradient);
  } else {
    // Autograd may give one tensor to two parameters: then it cannot be added to in place.
    const bool shared = gradient.use_count() > 1;
    sum = gradient.to(sum_type(gradient), /*non_blocking=*/false, /*copy=*/shared);
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
    if (gradients[p].defined()) add(worker, p, std::move(gradients[p]));
  }
}

void GradientSum::add(std::int64_t worker, std::size_t parameter, at::Tensor gradient) {
  add_to(shares_[static_cast<std::size_t>(worker)][parameter], std::move(gradient));
}

std::vector<at::Tensor> GradientSum::take_total() {
  std::vector<at::Tensor> sums(parameters_.size());
  for (std::size_t p = 0; p < sums.size(); ++p) {
    for (auto& share : shares_) {
      if (share[p].defined()) add_to(sums[p], std::move(share[p]));
      share[p] = at::Tensor();
    }
    if (!sums[p].defined()) sums[p] = at::zeros_like(parameters_[p], sum_type(parameters_[p])).detach();
  }
  return sums;
}

}  // namespace drift
