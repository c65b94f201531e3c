#include <core/boundary/checked.h>
#include <core/lab/conformance/inputs.h>
#include <core/lab/conformance/trials.h>
#include <core/lab/loss_slope.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace drift {
namespace {

constexpr double kLossRounding = 1e-9, kFloatRounding = 1e-5;
constexpr const char* kSplitHint =
    "divide by LossInput::totals, not by what a call sees, and add nothing for responses without a view in it; else "
    "Coupling::kResponse or kBatch";

/// A loss on one input, with everything that it gives.
struct Evaluated {
  double value = 0;
  std::vector<at::Tensor> gradients;  ///< by current_FL and entropy_FL
  std::map<std::string, std::pair<double, double>> metrics;
};

Evaluated evaluate(const LossEstimator& loss, const LossInput& input) {
  const DifferentiatedLoss found = differentiate(loss, input);
  Evaluated evaluated{found.loss.value.item<double>(), found.gradients, {}};
  for (const LossMetric& metric : found.loss.metrics)
    evaluated.metrics[metric.name] = {metric.sum.item<double>(), metric.count.item<double>()};
  return evaluated;
}

void require_finite(const Evaluated& evaluated) {
  for (const at::Tensor& gradient : evaluated.gradients) {
    if (!at::isfinite(gradient).all().item<bool>())
      throw Error("gradient: it is not finite, and the log-probabilities are",
                  "sqrt() at 0, and exp() and log() of what is dropped by a where(), have no finite gradient");
  }
}

/// The numbers of the views of each part, each part a list; for Coupling::kView a part is one view.
std::vector<std::vector<std::int64_t>> coupled_parts(const LossInput& input, Coupling coupling) {
  const auto* const response_F = input.plan.response_F.const_data_ptr<std::int64_t>();
  std::map<std::int64_t, std::vector<std::int64_t>> parts;
  for (std::int64_t f = 0; f < input.plan.response_F.size(0); ++f)
    parts[coupling == Coupling::kView ? f : coupling == Coupling::kResponse ? response_F[f] : 0].push_back(f);
  std::vector<std::vector<std::int64_t>> list;
  for (auto& [key, views] : parts) list.push_back(std::move(views));
  return list;
}

void require_gradient(const LossEstimator& loss) {
  const auto gradients = evaluate(loss, made_up_loss_input(loss, Viewed::kUsual, at::kDouble)).gradients;
  if (std::ranges::all_of(gradients, [](const at::Tensor& gradient) { return (gradient == 0).all().item<bool>(); }))
    throw Error("its gradient is 0 everywhere: it would train nothing",
                "let the value depend on log_probs.current_FL, by more than a factor of 0 or a clamp");
}

/// @return how many slopes were compared
std::size_t compare_gradient(const LossEstimator& loss) {
  const SlopeComparison comparison = compare_slopes(loss, made_up_loss_input(loss, Viewed::kUsual, at::kDouble));
  if (comparison.differences.empty()) return comparison.compared;
  const SlopeDifference& first = comparison.differences.front();
  char text[192];
  std::snprintf(text, sizeof text,
                "its gradient by the %s value of view %lld, position %lld is %.6g, but finite differences give %.6g",
                first.by, static_cast<long long>(first.view), static_cast<long long>(first.position), first.gradient,
                first.slope);
  // Some losses stop a gradient on purpose: what stands still then is not to be differentiated.
  if (comparison.detached > 0) throw RuleNote(std::string(text) + ", and it calls detach(): is that meant?");
  throw Error(text,
              "no item(), NoGradGuard or data pointer between the log-probabilities and the value; a function "
              "with a backward of its own must give its derivative");
}

void require_near(const std::string& what, double got, double expected, double tolerance,
                  const std::string& hint = "") {
  if (std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected))) return;
  char text[96];
  std::snprintf(text, sizeof text, " is %.9g, not %.9g", got, expected);
  throw Error(what + text, hint);
}

bool differ(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b, double tolerance) {
  return !std::ranges::equal(
      a, b, [&](const at::Tensor& x, const at::Tensor& y) { return largest_difference(x, y) <= tolerance; });
}

/// The parts added up must be the whole.
void check_split(const LossEstimator& loss, const LossInput& input, const std::vector<std::vector<std::int64_t>>& parts,
                 const std::string& how) {
  const Evaluated whole = evaluate(loss, input);
  Evaluated sum;
  for (const at::Tensor& gradient : whole.gradients) sum.gradients.push_back(at::zeros_like(gradient));
  for (const auto& views : parts) {
    const Evaluated part = evaluate(loss, selected_views(input, views));
    sum.value += part.value;
    for (const auto& [name, metric] : part.metrics) {
      sum.metrics[name].first += metric.first;
      sum.metrics[name].second += metric.second;
    }
    const at::Tensor view_V = at::tensor(at::ArrayRef<std::int64_t>(views), at::kLong);
    for (std::size_t g = 0; g < part.gradients.size(); ++g) sum.gradients[g].index_add_(0, view_V, part.gradients[g]);
  }
  require_near(how + " the loss", sum.value, whole.value, kLossRounding, kSplitHint);
  if (differ(sum.gradients, whole.gradients, kLossRounding))
    throw Error(how + " the gradient is another one", kSplitHint);
  for (const auto& [name, metric] : whole.metrics) {
    const auto mean = [](const std::pair<double, double>& ratio) {
      return ratio.second == 0 ? 0 : ratio.first / ratio.second;
    };
    require_near(how + " metric `" + name + "`", mean(sum.metrics[name]), mean(metric), kLossRounding);
  }
}

void check_split(const LossEstimator& loss, const LossInput& input) {
  const auto parts = coupled_parts(input, checked_coupling(loss));
  check_split(loss, input, parts, parts.size() == 1 ? "called again," : "called part by part,");
  std::vector<std::int64_t> backwards;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    backwards.insert(backwards.end(), part->begin(), part->end());
  if (parts.size() == 1) std::ranges::reverse(backwards);
  check_split(loss, input, {backwards}, "with the views in another order,");
}

void require_same_loss(const Evaluated& a, const Evaluated& b, const char* when) {
  const bool same = a.value == b.value && a.metrics == b.metrics &&
                    std::ranges::equal(a.gradients, b.gradients,
                                       [](const at::Tensor& x, const at::Tensor& y) { return same_bits(x, y); });
  if (!same)
    throw Error(std::string("the same input gives another loss ") + when,
                "a loss is a function of its input: it keeps no state, and draws nothing");
}

}  // namespace

void check_loss_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const Trials<LossEstimator> trials(entry, with, examination);
  const auto usual = [](const LossEstimator& loss) {
    return evaluate(loss, made_up_loss_input(loss, Viewed::kUsual, at::kFloat));
  };
  trials.made();
  trials.results([](const LossEstimator& loss) {
    checked_coupling(loss);
    for (const Viewed viewed : {Viewed::kUsual, Viewed::kPlain})
      require_finite(evaluate(loss, made_up_loss_input(loss, viewed, at::kFloat)));
  });
  trials.rule("empty views", [](const LossEstimator& loss) {
    for (const Viewed viewed : {Viewed::kAllMasked, Viewed::kEmpty}) {
      const LossInput input = made_up_loss_input(loss, viewed, at::kFloat);
      require_finite(evaluate(loss, input));
      for (const auto& views : coupled_parts(input, checked_coupling(loss)))
        require_finite(evaluate(loss, selected_views(input, views)));
    }
  });
  examination.rule("extremes", [&] {
    const auto loss = trials.usual();
    require_finite(evaluate(*loss, extreme_loss_input(*loss)));
    return std::string("log-probabilities from 0 to -100");
  });
  examination.rule("gradient", [&] {
    std::size_t compared = 0;
    const std::string tried = trials.each([&](const LossEstimator& loss) { compared += compare_gradient(loss); });
    require_gradient(*trials.usual());
    return tried + ", " + std::to_string(compared) + " slopes";
  });
  trials.rule("split", [](const LossEstimator& loss) {
    check_split(loss, made_up_loss_input(loss, Viewed::kUsual, at::kDouble));
    check_split(loss, made_up_loss_input(loss, Viewed::kEmpty, at::kDouble));
  });
  trials.rule("float32", [&](const LossEstimator& loss) {
    const Evaluated narrow = usual(loss), wide = evaluate(loss, made_up_loss_input(loss, Viewed::kUsual, at::kDouble));
    require_near("the loss of float32 log-probabilities", narrow.value, wide.value, kFloatRounding);
    if (differ(narrow.gradients, wide.gradients, kFloatRounding))
      throw Error("float32 log-probabilities give another gradient than float64 ones");
  });
  trials.repeats(usual, require_same_loss, [](const LossEstimator& loss) {
    evaluate(loss, made_up_loss_input(loss, Viewed::kAllMasked, at::kFloat));
  });
  trials.leak([&](const LossEstimator& loss) { usual(loss); });
}

}  // namespace drift
