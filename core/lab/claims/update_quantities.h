#pragma once

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>

#include <core/lab/claims/claim_batch.h>
#include <core/lab/claims/claim_result.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// The quantities of a claim on updates, by name, and what they are. A metric of a loss, `loss/NAME`, is one too.
const std::map<std::string, std::string>& update_quantities();

/// The one that needs ClaimBatch::entropy_BL.
inline constexpr const char* kEntropyOfUpdates = "committed_entropy";

/// One setting of a claim with the components that it means.
struct UpdateSetting {
  std::string name;
  Loaded<MaskingStrategy> masking;
  Loaded<LossEstimator> loss;
};

/// Updates of several settings on the same responses. No weight changes: gradients are computed and thrown away. Every
/// loss sees the first optimizer step of a rollout, and the checkpoint itself as its reference policy, so that a KL to
/// it is 0.
class UpdateMeasurement {
 public:
  /// @param memory_budget  bytes
  UpdateMeasurement(const Claim& claim, std::vector<UpdateSetting> settings, std::int64_t memory_budget);

  void add(const Model& model, const ClaimBatches& batches, const ClaimBatch& batch);

  /// Fill in `measured`, and the reason where nothing could be.
  void fill(ClaimResult& result) const;

 private:
  using Values = std::map<std::string, double>;  ///< by quantity

  Claim claim_;
  std::vector<UpdateSetting> settings_;
  std::int64_t memory_budget_;
  std::vector<std::vector<Values>> batches_;  ///< for each batch, the settings in their order
  std::int64_t groups_ = 0;                   ///< of all batches
};

}  // namespace drift
