#include <core/train/gradient_sum.h>

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift {

GradientSum::GradientSum(std::vector<at::Tensor> parameters, std::int64_t workers)
    : parameters_(std::move(parameters)),
      shares_(static_cast<std::size_t>(workers), std::vector<at::Tensor>(parameters_.size())) {}

void GradientSum::backward(std::int64_t worker, const std::vector<at::Tensor>& outputs,
                           const std::vector<at::Tensor>& output_gradients) {
  // torch::autograd::grad, not backward(): .grad is one place for all threads, and the order of additions into it is
  // not fixed.
  const auto gradients = torch::autograd::grad(outputs, parameters_, output_gradients, /*retain_graph=*/std::nullopt,
                                               /*create_graph=*/false, /*allow_unused=*/true);
  auto& share = shares_[static_cast<std::size_t>(worker)];
  for (std::size_t p = 0; p < share.size(); ++p) {
    if (!gradients[p].defined()) continue;
    if (share[p].defined()) {
      share[p].add_(gradients[p]);
    } else {
      share[p] = gradients[p];
    }
  }
}

std::vector<at::Tensor> GradientSum::total() const {
  std::vector<at::Tensor> sums;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    auto sum = at::zeros_like(parameters_[p]).detach();
    for (const auto& share : shares_) {
      if (share[p].defined()) sum.add_(share[p]);
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace drift
