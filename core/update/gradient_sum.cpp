#include <core/update/gradient_sum.h>

#include <ATen/OpMathType.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace drift {
namespace {

at::ScalarType sum_type(const at::Tensor& tensor) { return at::toOpMathType(tensor.scalar_type()); }

// A backward on the CPU runs on the thread that asks for it. On a device it has a thread of its own, and there is one
// worker.
thread_local std::int64_t worker_of_this_thread = 0;

/// Adds `gradient`, or makes it the sum if no other reference to it remains.
void add_to(at::Tensor& sum, at::Tensor gradient) {
  if (sum.defined()) {
    sum.add_(gradient);
  } else {
    // Autograd may give one tensor to two parameters: then it cannot be added to in place.
    const bool shared = gradient.use_count() > 1;
    sum = gradient.to(sum_type(gradient), /*non_blocking=*/false, /*copy=*/shared);
  }
}

/// Adds the looked-up rows of a table.
void add_rows(at::Tensor& sum, const at::Tensor& parameter, const at::Tensor& gradient) {
  if (!sum.defined()) sum = at::zeros_like(parameter, sum_type(parameter)).detach();
  sum.index_add_(0, gradient._indices()[0], gradient._values().to(sum.scalar_type()));
}

}  // namespace

/// Takes a parameter's gradient out of a backward as soon as it is known.
struct GradientSum::Hook final : torch::autograd::FunctionPreHook {
  Hook(GradientSum& to, std::size_t number) : sum(to), parameter(number) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& gradients) override {
    const at::NoGradGuard no_gradient;
    if (gradients[0].defined()) sum.add(worker_of_this_thread, parameter, gradients[0]);
    sum.arrived(parameter);
    return {at::Tensor()};
  }

  GradientSum& sum;
  const std::size_t parameter;
};

GradientSum::GradientSum(Ranks& ranks, std::vector<at::Tensor> parameters, std::int64_t workers)
    : ranks_(ranks),
      parameters_(std::move(parameters)),
      workers_(static_cast<std::size_t>(workers), std::vector<WorkerSum>(parameters_.size())) {
  add_hooks();
}

GradientSum::GradientSum(Ranks& ranks, std::vector<at::Tensor> parameters, Exchange exchange)
    : ranks_(ranks),
      parameters_(std::move(parameters)),
      workers_(1, std::vector<WorkerSum>(parameters_.size())),
      exchange_(std::move(exchange)),
      late_{exchange_.late},
      exchanges_now_(exchange_.every_round),
      has_arrived_(parameters_.size()),
      received_(parameters_.size()) {
  fill_buckets(/*in_blocks=*/true);
  fill_buckets(/*in_blocks=*/false);
  add_hooks();
}

/// A backward goes through a model from its end, so its last parameters come first.
void GradientSum::fill_buckets(bool in_blocks) {
  for (std::size_t p = parameters_.size(); p-- > 0;) {
    const std::int64_t block = exchange_.block.empty() ? -1 : exchange_.block[p];
    if (std::ranges::count(late_.parameters, p) > 0 || (block >= 0) != in_blocks) continue;
    const bool is_full = buckets_.empty() || buckets_.back().elements >= exchange_.bucket_elements;
    if (is_full || (buckets_.back().block >= 0) != in_blocks) buckets_.emplace_back();
    buckets_.back().parameters.push_back(p);
    buckets_.back().elements += parameters_[p].numel();
    buckets_.back().block = block;
  }
}

void GradientSum::add_hooks() {
  for (std::size_t p = 0; p < parameters_.size(); ++p)
    torch::autograd::impl::add_hook(parameters_[p], std::make_unique<Hook>(*this, p));
}

GradientSum::~GradientSum() {
  for (const at::Tensor& parameter : parameters_) torch::autograd::impl::hooks(parameter).pop_back();
}

void GradientSum::backward(std::int64_t worker, const std::vector<at::Tensor>& outputs,
                           const std::vector<at::Tensor>& output_gradients) {
  worker_of_this_thread = worker;
  // torch::autograd::grad, not backward(): .grad is one place for all threads, and the order of additions into it is
  // not fixed. What it returns has been added already.
  torch::autograd::grad(outputs, parameters_, output_gradients, /*retain_graph=*/std::nullopt,
                        /*create_graph=*/false, /*allow_unused=*/true);
}

void GradientSum::add(std::int64_t worker, std::size_t parameter, at::Tensor gradient) {
  WorkerSum& own = workers_[static_cast<std::size_t>(worker)][parameter];
  if (gradient.is_sparse()) {
    own.rows.push_back(std::move(gradient));
  } else {
    add_to(own.sum, std::move(gradient));
  }
}

/// Of all workers.
at::Tensor GradientSum::take(std::size_t p) {
  at::Tensor sum;
  for (auto& worker : workers_) {
    if (worker[p].sum.defined()) add_to(sum, std::exchange(worker[p].sum, at::Tensor()));
  }
  for (auto& worker : workers_) {
    for (const at::Tensor& rows : std::exchange(worker[p].rows, {})) add_rows(sum, parameters_[p], rows);
  }
  if (!sum.defined()) sum = at::zeros_like(parameters_[p], sum_type(parameters_[p])).detach();
  // A sum over ranks does not say whose number it was.
  if (ranks_.size() > 1) {
    const auto finite = at::isfinite(sum.sum());
    is_finite_ = is_finite_.defined() ? is_finite_.logical_and(finite) : finite;
  }
  return sum;
}

std::vector<at::Tensor> GradientSum::take_total() {
  std::vector<at::Tensor> sums;
  for (std::size_t p = 0; p < parameters_.size(); ++p) sums.push_back(take(p));
  return sums;
}

bool GradientSum::is_finite() const { return !is_finite_.defined() || is_finite_.item<bool>(); }

bool GradientSum::is_complete(const Bucket& bucket) const {
  if (!exchange_.block.empty() && bucket.block < 0) return false;
  return std::ranges::all_of(bucket.parameters, [&](std::size_t p) { return has_arrived_[p]; });
}

void GradientSum::arrived(std::size_t parameter) {
  if (buckets_.empty() || !exchanges_now_ || failed_exchange_) return;
  has_arrived_[parameter] = true;
  try {
    while (next_bucket_ < buckets_.size() && is_complete(buckets_[next_bucket_])) send(buckets_[next_bucket_++]);
  } catch (...) {  // not the model's fault, in whose backward this is
    failed_exchange_ = std::current_exception();
  }
}

void GradientSum::send(const Bucket& bucket) {
  receive();
  std::vector<at::Tensor> sums;
  for (const std::size_t p : bucket.parameters) sums.push_back(take(p));
  ranks_.begin_sum(std::move(sums), exchange_.receivers);
  on_its_way_ = &bucket;
}

/// What is on its way, if anything is.
void GradientSum::receive() {
  if (on_its_way_ == nullptr) return;
  const auto sums = ranks_.finish_sum();
  const Bucket& bucket = *std::exchange(on_its_way_, nullptr);
  for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
    at::Tensor& sum = received_[bucket.parameters[i]];
    sum = sum.defined() ? sum.add_(sums[i]) : sums[i];
  }
}

void GradientSum::blocks_done(std::int64_t layer) {
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].block > layer) send(buckets_[next_bucket_++]);
}

void GradientSum::end_round() {
  if (failed_exchange_) std::rethrow_exception(failed_exchange_);
  if (!exchange_.every_round) return;
  while (next_bucket_ < buckets_.size()) send(buckets_[next_bucket_++]);
  next_bucket_ = 0;
  has_arrived_.assign(has_arrived_.size(), false);
}

std::vector<at::Tensor> GradientSum::take_sums() {
  if (failed_exchange_) std::rethrow_exception(failed_exchange_);
  if (!exchange_.every_round) {
    while (next_bucket_ < buckets_.size()) send(buckets_[next_bucket_++]);
  }
  if (!late_.parameters.empty()) send(late_);
  receive();
  return std::exchange(received_, std::vector<at::Tensor>(parameters_.size()));
}

}  // namespace drift
