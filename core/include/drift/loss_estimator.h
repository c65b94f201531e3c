#pragma once

// A loss is a function of log-probabilities:
//
//     class Reinforce final : public drift::LossEstimator {
//      public:
//       explicit Reinforce(const drift::Parameters&) {}
//       drift::Coupling coupling() const override { return drift::Coupling::kView; }
//       void needs(drift::LossNeeds& needs) const override { needs.old = false; }
//       drift::Loss evaluate(const drift::LossInput& in) const override {
//         return in.token_mean(-in.token_advantage() * in.log_probs.current_FL);
//       }
//     };

#include <drift/component.h>
#include <drift/mask_plan.h>
#include <drift/params.h>
#include <drift/reserved.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// Which views a loss couples. The core splits the work accordingly to fit memory (docs/spec/algorithms.md 1.8).
enum class Coupling : std::uint32_t {
  kView = 0,      ///< the loss is a sum over views
  kResponse = 1,  ///< the views of one response belong together
  kBatch = 2,     ///< all views belong together (for example, a normaliser that depends on the log-probabilities)
};

/// Log-probabilities of the sampled tokens at the target positions, float32, 0 elsewhere. [F, L].
struct LogProbs {
  at::Tensor current_FL;  ///< differentiable
  at::Tensor old_FL;  ///< the policy that wrote the responses, same contexts; the detached current one while unchanged.
                      ///< Undefined if the loss does not need it
  at::Tensor reference_FL;  ///< undefined unless LossNeeds::reference
  at::Tensor
      entropy_FL;  ///< entropy of the predicted distribution, differentiable; undefined unless LossNeeds::entropy
  at::Tensor reference_entropy_FL;  ///< undefined unless both
  Reserved<at::Tensor, 6> reserved_tensors = {};
};

/// Totals of the complete plan, of which a call may see only some views. A loss of Coupling::kBatch sees all views of
/// an optimizer step.
struct BatchTotals {
  std::int64_t responses = 0;        ///< B: kept responses, including those without a view
  std::int64_t group_size = 0;       ///< G
  std::int64_t terms = 0;            ///< K of the plan
  std::int64_t targets = 0;          ///< scored positions of all views
  std::int64_t optimizer_steps = 1;  ///< per rollout: with more than one, the policy moves away from the old one
  std::int64_t views = 0;            ///< F of the plan
  Reserved<std::int64_t, 6> reserved_numbers = {};
};

struct Loss;

/// The views of one call: one or more complete coupled units.
struct DRIFT_API LossInput {
  MaskPlan plan;
  LogProbs log_probs;
  at::Tensor advantage_B;  ///< float32, of all responses of the batch; plan.response_F indexes it
  at::Tensor valid_BL;     ///< bool, of all responses
  BatchTotals totals;
  at::Tensor scored_B;      ///< int64, of all responses: positions that at least one view of the plan scores
  at::Tensor advantage_BL;  ///< float32, of all responses and tokens; undefined: advantages are per response
  Reserved<at::Tensor, 6> reserved_tensors = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};

  /// The advantage of each view's response.
  at::Tensor advantage_F1() const;
  /// The advantage of each token, [F, L], or [F, 1] if it is the response's. A token loss multiplies by it.
  at::Tensor token_advantage() const;

  /// Sum over target positions / number of targets in the whole batch: the same for any split of the views.
  Loss token_mean(const at::Tensor& values_FL) const;
};

/// A number for metrics.jsonl, as `loss/NAME`: sum / count, each added up over all views first. Final.
struct LossMetric {
  std::string name;
  at::Tensor sum;    ///< 0-d
  at::Tensor count;  ///< 0-d
};

/// The value of a loss over the given views; values of different views add up to the loss of the batch.
struct DRIFT_API Loss {
  at::Tensor value;  ///< 0-d, differentiable
  std::vector<LossMetric> metrics;
  Reserved<at::Tensor, 3> reserved_tensors = {};

  /// Log the mean of `values` over the true positions of `where` (same shape).
  void add_mean(const std::string& name, const at::Tensor& values, const at::Tensor& where);
  /// Log sum / count, two 0-d tensors.
  void add_ratio(const std::string& name, const at::Tensor& sum, const at::Tensor& count);
};

/// What the core must compute for a loss besides the current log-probabilities.
struct LossNeeds {
  bool old = true;             ///< log-probabilities of the policy that wrote the responses
  bool reference = false;      ///< log-probabilities of the reference policy
  bool entropy = false;        ///< entropies at the targets
  bool token_weights = false;  ///< it counts MaskPlan::token_weight_FL; others are not given a plan with such weights
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

/// A pure differentiable function of log-probabilities: a loss never runs the model. Constructors: registry.h.
class DRIFT_API LossEstimator : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kLossEstimator;

  virtual Coupling coupling() const = 0;
  virtual void needs(LossNeeds&) const {}

  /// @return the loss over the given views. Must be finite if the log-probabilities are.
  virtual Loss evaluate(const LossInput& input) const = 0;
};

}  // namespace drift
