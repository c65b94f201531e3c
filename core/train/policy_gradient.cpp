#include <core/train/policy_gradient.h>

#include <drift/error.h>
#include <drift/parallel.h>

#include <core/train/gradient_sum.h>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

using Views = std::vector<std::int64_t>;

at::Tensor select(const at::Tensor& tensor, const at::Tensor& index, at::Device device) {
  return tensor.defined() ? tensor.index_select(0, index.to(tensor.device())).to(device) : tensor;
}

/// The smallest sets of views that a loss of this coupling can be asked about.
std::vector<Views> coupled_units(const MaskPlan& plan, Coupling coupling) {
  if (coupling == Coupling::kBatch) return {all_views(plan)};
  const std::int64_t* sample = plan.sample_F.const_data_ptr<std::int64_t>();
  Views order = all_views(plan);
  // Neighbours share contexts, so views of one response go together even where the loss does not ask for it.
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return sample[a] < sample[b]; });
  std::vector<Views> units;
  for (const std::int64_t view : order) {
    const bool joins = coupling == Coupling::kSample && !units.empty() && sample[units.back().front()] == sample[view];
    if (!joins) units.emplace_back();
    units.back().push_back(view);
  }
  return units;
}

/// Whole units, packed in order into sets of at most `capacity` views; a larger unit stays alone.
std::vector<Views> pack(const std::vector<Views>& units, std::int64_t capacity) {
  std::vector<Views> passes;
  for (const Views& unit : units) {
    const auto size = static_cast<std::int64_t>(unit.size());
    if (passes.empty() || static_cast<std::int64_t>(passes.back().size()) + size > capacity) passes.emplace_back();
    passes.back().insert(passes.back().end(), unit.begin(), unit.end());
  }
  return passes;
}

class GradientComputation {
 public:
  GradientComputation(const Model& model, const LossEstimator& loss, const UpdateBatch& batch)
      : model_(model),
        loss_(loss),
        batch_(batch),
        device_(model.lm_head_VH().device()),
        type_(at::toOpMathType(model.lm_head_VH().scalar_type())),
        workers_(row_workers(model.traits().hidden_size, device_.is_cpu())),
        length_(batch.trajectories->tokens_BL.size(1)),
        gradients_(tensors(model), workers_) {
    loss.needs(needs_);
    result_.current_FL = at::zeros({batch.plan->sample_F.size(0), length_}, at::TensorOptions(type_).device(device_));
  }

  /// All graphs alive together: forward, loss, backward.
  void one_pass(const Views& views) {
    const auto rows = distinct_view_rows(model_.traits(), *batch_.trajectories, *batch_.plan, views);
    result_.rows += static_cast<std::int64_t>(rows.size());
    result_.backward_rows += static_cast<std::int64_t>(rows.size());
    std::vector<ScoredRows> shards(static_cast<std::size_t>(workers_));
    for_shards(rows, [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
      shards[static_cast<std::size_t>(worker)] =
          score_rows(model_, *batch_.trajectories, rows, begin, end, needs_.entropy);
    });
    const auto pull = evaluate(views, gather(shards, static_cast<std::int64_t>(views.size())));
    for_shards(rows, [&](std::int64_t worker, std::int64_t, std::int64_t) {
      backward(worker, shards[static_cast<std::size_t>(worker)], pull);
    });
  }

  /// Log-probabilities first, then each part again with its graph.
  void two_pass(const Views& views, std::int64_t capacity) {
    result_.two_pass = true;
    const auto pull = evaluate(views, score_views(model_, *batch_.trajectories, *batch_.plan, views, needs_.entropy));
    const auto rows = distinct_view_rows(model_.traits(), *batch_.trajectories, *batch_.plan, views);
    result_.rows += 2 * static_cast<std::int64_t>(rows.size());
    result_.backward_rows += static_cast<std::int64_t>(rows.size());
    const std::int64_t rows_at_once = std::max<std::int64_t>(1, capacity / workers_);
    for_shards(rows, [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += rows_at_once) {
        const auto last = std::min(end, first + rows_at_once);
        backward(worker, score_rows(model_, *batch_.trajectories, rows, first, last, needs_.entropy), pull);
      }
    });
  }

  PolicyGradient finish() {
    result_.gradients = gradients_.take_total();
    return std::move(result_);
  }

 private:
  /// d loss / d log-prob and d loss / d entropy, [F, L] of the views.
  struct Pull {
    at::Tensor logprob_FL, entropy_FL;
  };

  static std::vector<at::Tensor> tensors(const Model& model) {
    std::vector<at::Tensor> list;
    for (const auto& parameter : model.parameters()) list.push_back(parameter.tensor);
    return list;
  }

  template <class Body>
  void for_shards(const std::vector<ViewRow>& rows, const Body& body) const {
    parallel_rows(workers_, static_cast<std::int64_t>(rows.size()),
                  [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
                    if (begin < end) body(worker, begin, end);
                  });
  }

  PolicyScores gather(const std::vector<ScoredRows>& shards, std::int64_t views) const {
    const at::NoGradGuard no_gradient;
    PolicyScores scores;
    scores.logprob_FL = at::zeros({views, length_}, at::TensorOptions(type_).device(device_));
    if (needs_.entropy) scores.entropy_FL = at::zeros_like(scores.logprob_FL);
    for (const ScoredRows& shard : shards) {
      if (!shard.flat_E.defined()) continue;
      scores.logprob_FL.view({-1}).index_copy_(0, shard.flat_E, shard.logprob_E.detach());
      if (needs_.entropy) scores.entropy_FL.view({-1}).index_copy_(0, shard.flat_E, shard.entropy_E.detach());
    }
    return scores;
  }

  Pull evaluate(const Views& views, const PolicyScores& current) {
    const auto index = index_tensor(views);
    result_.current_FL.index_copy_(0, index.to(device_), current.logprob_FL);
    LossInput input;
    input.plan = select_views(*batch_.plan, views, device_);
    input.log_probs.current_FL = current.logprob_FL.clone().set_requires_grad(true);
    const auto& old = batch_.old_policy.logprob_FL;
    input.log_probs.old_FL = old.defined() ? select(old, index, device_) : current.logprob_FL;
    const bool old_is_reference = batch_.reference_is_old_policy;
    input.log_probs.reference_FL =
        old_is_reference ? input.log_probs.old_FL : select(batch_.reference.logprob_FL, index, device_);
    input.log_probs.reference_entropy_FL =
        select(old_is_reference ? batch_.old_policy.entropy_FL : batch_.reference.entropy_FL, index, device_);
    if (needs_.entropy) input.log_probs.entropy_FL = current.entropy_FL.clone().set_requires_grad(true);
    input.advantage_B = batch_.advantage_B.to(device_, type_);
    input.valid_BL = batch_.trajectories->valid_BL.to(device_);
    input.totals = batch_.totals;
    input.scored_B = batch_.scored_B.to(device_);

    const Loss loss = loss_.evaluate(input);
    const double value = loss.value.item<double>();
    if (!std::isfinite(value)) {
      throw Error("the loss is " + std::to_string(value),
                  "the weights have diverged: go back to an earlier checkpoint with a lower learning rate");
    }
    result_.loss += value;
    for (const LossMetric& metric : loss.metrics) {
      result_.metrics[metric.name].sum += metric.sum.item<double>();
      result_.metrics[metric.name].count += metric.count.item<double>();
    }
    std::vector<at::Tensor> leaves{input.log_probs.current_FL};
    if (needs_.entropy) leaves.push_back(input.log_probs.entropy_FL);
    if (!loss.value.requires_grad())
      return {at::zeros_like(current.logprob_FL), needs_.entropy ? at::zeros_like(current.entropy_FL) : at::Tensor()};
    auto pulled = torch::autograd::grad({loss.value}, leaves, {}, std::nullopt, false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < pulled.size(); ++i) {
      if (!pulled[i].defined()) pulled[i] = at::zeros_like(leaves[i]);
    }
    return {pulled[0].detach(), needs_.entropy ? pulled[1].detach() : at::Tensor()};
  }

  void backward(std::int64_t worker, const ScoredRows& rows, const Pull& pull) {
    std::vector<at::Tensor> outputs{rows.logprob_E};
    std::vector<at::Tensor> pulls{pull.logprob_FL.view({-1}).index_select(0, rows.flat_E)};
    if (needs_.entropy) {
      outputs.push_back(rows.entropy_E);
      pulls.push_back(pull.entropy_FL.view({-1}).index_select(0, rows.flat_E));
    }
    gradients_.backward(worker, outputs, pulls);
  }

  const Model& model_;
  const LossEstimator& loss_;
  const UpdateBatch& batch_;
  const at::Device device_;
  const at::ScalarType type_;
  const std::int64_t workers_;
  const std::int64_t length_;
  LossNeeds needs_;
  GradientSum gradients_;
  PolicyGradient result_;
};

/// Rows whose graphs fit the budget together.
std::int64_t row_capacity(const Model& model, const UpdateBatch& batch, std::int64_t memory_budget) {
  const std::int64_t length = batch.trajectories->tokens_BL.size(1);
  const std::int64_t sequence = batch.trajectories->prompts.tokens_BP.size(1) + length;
  // Scored positions keep their logits and, in the backward, the softmax of them.
  constexpr std::int64_t kBytesPerLogit = 3 * sizeof(float);
  const std::int64_t row =
      model.training_bytes_per_row(sequence) + length * model.traits().vocabulary_size * kBytesPerLogit;
  return std::max<std::int64_t>(1, memory_budget / row);
}

}  // namespace

MaskPlan select_views(const MaskPlan& plan, const Views& views, at::Device device) {
  const auto index = index_tensor(views);
  MaskPlan selected;
  selected.sample_F = select(plan.sample_F, index, device);
  selected.forward_F = select(plan.forward_F, index, device);
  selected.step_F = select(plan.step_F, index, device);
  selected.masked_FL = select(plan.masked_FL, index, device);
  selected.target_FL = select(plan.target_FL, index, device);
  selected.committed_FL = select(plan.committed_FL, index, device);
  selected.weight_F = select(plan.weight_F, index, device);
  selected.prompt_masked_FP = select(plan.prompt_masked_FP, index, device);
  selected.forwards = plan.forwards;
  return selected;
}

PolicyGradient policy_gradient(const Model& model, const LossEstimator& loss, const UpdateBatch& batch,
                               std::int64_t memory_budget) {
  GradientComputation computation(model, loss, batch);
  const std::int64_t capacity = row_capacity(model, batch, memory_budget);
  for (const Views& pass : pack(coupled_units(*batch.plan, loss.coupling()), capacity)) {
    if (static_cast<std::int64_t>(pass.size()) <= capacity) {
      computation.one_pass(pass);
    } else {
      computation.two_pass(pass, capacity);
    }
  }
  return computation.finish();
}

}  // namespace drift
