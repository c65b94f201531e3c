#pragma once

#include <drift/registry.h>
#include <drift/reward.h>

#include <core/boundary/components.h>
#include <core/config/run_config.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The verdicts of all rewards of a run on one response.
struct Judgement {
  double value = 0;                         ///< sum of weight times value over the rewards
  bool solved = false;                      ///< by the reward of [reward] only: what accuracy counts
  RewardStatus status = RewardStatus::kOk;  ///< likewise; but kInfrastructure if any reward could not judge
  std::string reason;                       ///< of the reward that decided the status
  std::vector<RewardResult> parts;          ///< in the order of Judge::labels()
};

/// What becomes of a response whose item's reference a reward cannot read.
enum class BadReference { kThrow, kNotJudged };

/// "ok", "no answer", "wrong", "timeout", …
std::string_view status_name(RewardStatus status);

/// The rewards of a run: [reward], and each [reward.added.LABEL] with its weight.
class Judge {
 public:
  /// @throws Error if a reward cannot be made.
  Judge(RunHost& host, const RunConfig& config);

  /// The name of [reward]'s component, then the labels of the added ones.
  const std::vector<std::string>& labels() const { return labels_; }
  /// In the order of labels().
  const std::vector<double>& weights() const { return weights_; }

  /// Judgements of the requests, in their order; as many at a time as there are processors, or as a reward's parameter
  /// `workers` says if that is more. Equal responses to the same item are judged once,
  /// so that they cannot get different rewards. Responses that could not be judged are tried a second time.
  /// @throws Error naming the reward and the item; with kNotJudged its text is the reason of a judgement with the
  /// status kInfrastructure instead.
  std::vector<Judgement> judge(std::span<const RewardRequest> requests,
                               BadReference bad_reference = BadReference::kThrow) const;

 private:
  Judgement judge_one(const RewardRequest& request, BadReference bad_reference) const;
  RewardResult score(std::size_t reward, RewardRequest request, BadReference bad_reference) const;

  std::vector<Loaded<Reward>> rewards_;
  std::vector<std::string> labels_;
  std::vector<double> weights_;
  std::vector<std::string> after_;  ///< what stands before all that a reward judges, or empty
  std::string given_words_;         ///< of responses whose items have none of their own
  std::size_t at_once_;
};

}  // namespace drift
