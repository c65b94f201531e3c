#include <core/lab/claims/update_quantities.h>

#include <core/base/phase_timer.h>
#include <core/base/unknown.h>
#include <core/boundary/checked.h>
#include <core/ranks/ranks.h>
#include <core/update/policy_gradient.h>
#include <core/update/policy_update.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/dot.h>

#include <cmath>
#include <optional>

namespace drift {
namespace {

double dot(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += at::dot(a[i].reshape({-1}), b[i].reshape({-1})).item<double>();
  return sum;
}

/// One update of one setting: its gradient, and what is known without those of others.
struct MeasuredUpdate {
  std::vector<at::Tensor> gradient;
  std::map<std::string, double> values;
};

/// Mean over the true positions of `where`.
double mean_where(const at::Tensor& values_FL, const at::Tensor& where_FL) {
  const auto count = where_FL.sum().item<std::int64_t>();
  if (count == 0) return kUnknown;
  return values_FL.to(at::kDouble).masked_select(where_FL).sum().item<double>() / static_cast<double>(count);
}

/// What a plan chose of the responses, without a model.
void describe_plan(const ClaimBatch& batch, const MaskPlan& plan, const at::Tensor& committed_FL,
                   std::map<std::string, double>& values) {
  const auto views = static_cast<double>(plan.response_F.size(0));
  const auto logprob_FL = batch.kept.commit_logprob_BL.index_select(0, plan.response_F);
  values["views"] = views / static_cast<double>(batch.kept.tokens_BL.size(0));
  values["scored_tokens"] = plan.target_FL.sum().item<double>() / views;
  values["committed_tokens"] = committed_FL.sum().item<double>() / views;
  values["committed_probability"] = mean_where(logprob_FL.exp(), committed_FL);
  if (!batch.kept_entropy_BL.defined()) return;
  const auto entropy_FL = batch.kept_entropy_BL.index_select(0, plan.response_F);
  values[kEntropyOfUpdates] = mean_where(entropy_FL, committed_FL);
}

MeasuredUpdate measure_update(const Model& model, const UpdateSetting& setting, const ClaimBatch& batch,
                              const ClaimBatches& batches, std::int64_t draw_step, std::int64_t memory_budget) {
  const MaskPlan plan = draw_plan(*setting.masking, batch.kept, model.traits(),
                                  {batches.random().child("masking"), draw_step, batch.number_B});
  MeasuredUpdate update;
  if (plan.response_F.size(0) == 0) return update;

  const auto committed_FL =
      plan.committed_FL.defined() ? plan.target_FL.logical_and(plan.committed_FL) : plan.target_FL;
  describe_plan(batch, plan, committed_FL, update.values);
  const LossNeeds needs = checked_needs(*setting.loss);
  Ranks alone;
  UpdateBatch work = update_batch(batch.kept, batch.advantage_B, plan, batches.group_size());
  work.reference_is_old_policy = needs.reference;
  if (needs.reference && needs.entropy)
    work.old_policy = score_views(alone, model, batch.kept, plan, all_views(plan), /*want_entropy=*/true);
  const PhaseTimer timer;
  PolicyGradient gradient = policy_gradient(alone, model, *setting.loss, work, memory_budget);
  const double seconds = timer.seconds();

  const auto responses = static_cast<double>(batch.kept.tokens_BL.size(0));
  const double rollout_responses = static_cast<double>(batch.made.tokens_BL.size(0));
  const double forwards = batch.kept.forwards_B.to(at::kDouble).mean().item<double>();
  update.values["loss"] = gradient.loss;
  update.values["gradient_norm"] = std::sqrt(dot(gradient.gradients, gradient.gradients));
  update.values["update_rows"] = static_cast<double>(gradient.rows) / responses;
  update.values["rows_to_forwards"] = update.values["update_rows"] / forwards;
  update.values["seconds_to_rollout"] = seconds / responses / (batch.rollout_seconds / rollout_responses);
  const auto logprob_FL = batch.kept.commit_logprob_BL.index_select(0, plan.response_F);
  update.values["rollout_mismatch"] = mean_where((gradient.current_FL.cpu() - logprob_FL).abs(), committed_FL);
  for (const auto& [name, metric] : gradient.metrics)
    update.values["loss/" + name] = metric.count > 0 ? metric.sum / metric.count : kUnknown;
  update.gradient = std::move(gradient.gradients);
  return update;
}

/// Means over the draws of one setting, and how its gradients spread.
class DrawSum {
 public:
  void add(const MeasuredUpdate& update) {
    if (update.gradient.empty()) return;
    ++draws_;
    for (const auto& [name, value] : update.values) sums_[name] += value;
    squares_ += dot(update.gradient, update.gradient);
    if (mean_.empty()) {
      for (const at::Tensor& gradient : update.gradient) mean_.push_back(gradient.clone());
    } else {
      for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i].add_(update.gradient[i]);
    }
  }
  void add_cosine(double cosine) { sums_["cosine"] += cosine; }

  std::map<std::string, double> values() const {
    std::map<std::string, double> values;
    if (draws_ == 0) return values;
    const auto draws = static_cast<double>(draws_);
    for (const auto& [name, sum] : sums_) values[name] = sum / draws;
    if (draws_ > 1) {
      const double of_mean = dot(mean_, mean_) / draws / draws;  // squared norm
      values["gradient_variance"] = (squares_ - draws * of_mean) / (draws - 1) / of_mean;
    }
    return values;
  }

 private:
  std::int64_t draws_ = 0;
  std::map<std::string, double> sums_;
  std::vector<at::Tensor> mean_;  ///< times draws
  double squares_ = 0;
};

}  // namespace

const std::map<std::string, std::string>& update_quantities() {
  static const std::map<std::string, std::string> all = {
      {"loss", "the loss"},
      {"gradient_norm", "norm of the gradient before it is clipped"},
      {"cosine", "cosine of the angle between the gradient and that of the reference setting"},
      {"gradient_variance", "variance of the gradient over draws of the plan, over the squared norm of its mean"},
      {"views", "views of a response"},
      {"scored_tokens", "tokens that a view scores, before the loss drops any"},
      {"committed_tokens", "of them, tokens that were committed from the view's state"},
      {"committed_probability", "mean commit probability of those"},
      {kEntropyOfUpdates, "mean entropy that those were drawn from, nats"},
      {"rollout_mismatch", "mean distance of their log-probability in the update from the one in the rollout"},
      {"update_rows", "sequences through the model of an update, for each response"},
      {"rows_to_forwards", "the same over the rollout's forwards of a response"},
      {"seconds_to_rollout", "time of an update over that of a rollout, for each response"},
  };
  return all;
}

UpdateMeasurement::UpdateMeasurement(const Claim& claim, std::vector<UpdateSetting> settings,
                                     std::int64_t memory_budget)
    : claim_(claim), settings_(std::move(settings)), memory_budget_(memory_budget) {}

void UpdateMeasurement::add(const Model& model, const ClaimBatches& batches, const ClaimBatch& batch) {
  groups_ += batch.groups;
  auto& values = batches_.emplace_back();
  if (batch.live_groups == 0) return;
  const auto measure = [&](const UpdateSetting& setting, std::int64_t draw) {
    return measure_update(model, setting, batch, batches, batch.number * claim_.draws + draw, memory_budget_);
  };
  std::optional<MeasuredUpdate> reference;
  for (const UpdateSetting& setting : settings_) {
    if (setting.name == claim_.reference) reference = measure(setting, 0);
  }
  for (const UpdateSetting& setting : settings_) {
    DrawSum sum;
    for (std::int64_t draw = 0; draw < claim_.draws; ++draw) {
      const bool is_reference = reference && setting.name == claim_.reference && draw == 0;
      const MeasuredUpdate update = is_reference ? *reference : measure(setting, draw);
      sum.add(update);
      if (!reference || reference->gradient.empty() || update.gradient.empty()) continue;
      sum.add_cosine(dot(update.gradient, reference->gradient) /
                     std::sqrt(dot(update.gradient, update.gradient) * dot(reference->gradient, reference->gradient)));
    }
    values.push_back(sum.values());
  }
}

void UpdateMeasurement::fill(ClaimResult& result) const {
  bool any = false;
  for (std::size_t s = 0; s < settings_.size(); ++s) {
    for (const std::string& quantity : claim_.quantities) {
      MeasuredQuantity measured{settings_[s].name, quantity, {}};
      for (const auto& batch : batches_) {
        const auto found = s < batch.size() ? batch[s].find(quantity) : Values::const_iterator();
        const bool known = s < batch.size() && found != batch[s].end();
        measured.values.push_back(known ? found->second : kUnknown);
        any = any || known;
      }
      result.measured.push_back(std::move(measured));
    }
  }
  if (!any)
    result.reason =
        "none of the " + std::to_string(groups_) + " groups of responses had differing rewards: their gradients are 0";
}

}  // namespace drift
