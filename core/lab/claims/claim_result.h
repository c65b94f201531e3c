#pragma once

#include <core/lab/claims/claims_file.h>
#include <core/record/estimate.h>
#include <core/report/chart.h>
#include <core/report/text_table.h>

#include <optional>
#include <string>
#include <vector>

namespace drift {

/// One quantity of one setting: a value for each batch of responses or each run; NaN where it is not known.
struct MeasuredQuantity {
  std::string setting;  ///< empty where there is only one
  std::string quantity;
  std::vector<double> values = {};
};

enum class Verdict {
  kHolds,       ///< the margin is above 0, and its corrected p below the level
  kFails,       ///< the margin is below 0, likewise
  kUndecided,   ///< the corrected p is not below the level, or there is one value
  kUntestable,  ///< not measured, and `reason` says why
  kShown,       ///< no expectation: numbers to look at
};

/// "holds", "does not hold", "undecided", "cannot be tested", "shown"
std::string verdict_name(Verdict verdict);

/// An expectation and by how much it is met: more - times * less, or the distance to the nearer bound.
struct JudgedExpectation {
  Expectation expectation;
  Verdict verdict = Verdict::kUntestable;
  Estimate margin;                              ///< over batches or runs
  double p = kUnknown, corrected_p = kUnknown;  ///< Student's t, two-sided; Holm's correction over all expectations
};

/// Where the corrected p is below it, an expectation holds or fails.
inline constexpr double kClaimLevel = 0.05;

struct ClaimResult {
  Claim claim;
  std::vector<MeasuredQuantity> measured = {};
  std::vector<JudgedExpectation> judged = {};
  std::string reason = {};  ///< why something could not be tested; may be empty
  std::vector<Chart> charts = {};
  TextTable table = {};  ///< more to look at; may be empty

  /// The worst of the expectations' verdicts.
  Verdict verdict() const;
  const MeasuredQuantity* find(const std::string& setting, const std::string& quantity) const;
  /// Something is known of it.
  bool has(const std::string& quantity) const;
};

/// Fill in `judged` from what was measured. Values of the same batch are compared with each other. The claims are those
/// of one page: the more it tests, the smaller a p has to be.
void judge_claims(std::vector<ClaimResult>& results);

/// "p: …": how the verdicts were reached.
std::string sentence_of_verdicts(const std::vector<ClaimResult>& results);

}  // namespace drift
