#include <core/lab/claims/claim_result.h>

#include <core/record/significance.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

/// How far each value is on the right side; negative: on the wrong one.
std::vector<double> margins(const ClaimResult& result, const Expectation& expect) {
  const bool compares = !expect.more.empty();
  const MeasuredQuantity* more = result.find(compares ? expect.more : expect.setting, expect.quantity);
  const MeasuredQuantity* less = compares ? result.find(expect.less, expect.quantity) : nullptr;
  if (more == nullptr || (compares && less == nullptr)) return {};
  std::vector<double> margins;
  for (std::size_t i = 0; i < more->values.size(); ++i) {
    const double value = more->values[i];
    if (compares) {
      margins.push_back(i < less->values.size() ? value - expect.times * less->values[i] : kUnknown);
      continue;
    }
    const double above = expect.above ? value - *expect.above : INFINITY;
    const double below = expect.below ? *expect.below - value : INFINITY;
    margins.push_back(std::isnan(value) ? kUnknown : std::min(above, below));
  }
  return margins;
}

Verdict verdict_of(const JudgedExpectation& judged) {
  if (judged.margin.count == 0) return Verdict::kUntestable;
  if (judged.margin.count == 1) return Verdict::kUndecided;
  if (judged.corrected_p >= kClaimLevel) return Verdict::kUndecided;  // without any spread there is no p
  return judged.margin.mean > 0 ? Verdict::kHolds : Verdict::kFails;
}

void measure_margins(ClaimResult& result) {
  result.judged.clear();
  for (const Expectation& expect : result.claim.expect) {
    const Estimate margin = estimate(margins(result, expect));
    result.judged.push_back({expect, Verdict::kUntestable, margin, t_test(margin).p});
    if (margin.count == 0 && result.reason.empty()) result.reason = "nothing was measured of " + expect.text();
    if (margin.count == 1 && result.reason.empty())
      result.reason = "one value has no standard error: measure more batches or more seeds";
  }
}

}  // namespace

std::string verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds: return "holds";
    case Verdict::kFails: return "does not hold";
    case Verdict::kUndecided: return "undecided";
    case Verdict::kUntestable: return "cannot be tested";
    default: return "shown";
  }
}

Verdict ClaimResult::verdict() const {
  if (judged.empty()) return reason.empty() ? Verdict::kShown : Verdict::kUntestable;
  for (const Verdict worst : {Verdict::kFails, Verdict::kUntestable, Verdict::kUndecided}) {
    if (std::ranges::count(judged, worst, &JudgedExpectation::verdict) > 0) return worst;
  }
  return Verdict::kHolds;
}

const MeasuredQuantity* ClaimResult::find(const std::string& setting, const std::string& quantity) const {
  const auto found = std::ranges::find_if(
      measured, [&](const MeasuredQuantity& one) { return one.setting == setting && one.quantity == quantity; });
  return found == measured.end() ? nullptr : &*found;
}

bool ClaimResult::has(const std::string& quantity) const {
  return std::ranges::any_of(measured, [&](const MeasuredQuantity& one) {
    return one.quantity == quantity && estimate(one.values).count > 0;
  });
}

void judge_claims(std::vector<ClaimResult>& results) {
  std::vector<double> p;
  for (ClaimResult& result : results) {
    measure_margins(result);
    for (const JudgedExpectation& judged : result.judged) p.push_back(judged.p);
  }
  const std::vector<double> corrected = holm(p);
  std::size_t number = 0;
  for (ClaimResult& result : results) {
    for (JudgedExpectation& judged : result.judged) {
      judged.corrected_p = corrected[number++];
      judged.verdict = verdict_of(judged);
    }
  }
}

std::string sentence_of_verdicts(const std::vector<ClaimResult>& results) {
  std::ptrdiff_t tested = 0;
  for (const ClaimResult& result : results)
    tested += std::ranges::count_if(result.judged, [](const JudgedExpectation& one) { return !std::isnan(one.p); });
  return print_text("holds, does not hold: p (Holm) below %g; ", kClaimLevel) +
         "p: two-sided t-test of the margin over batches or runs; Holm: corrected over the " +
         count_of(tested, "expectation") + " tested here";
}

}  // namespace drift
