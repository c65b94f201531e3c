#pragma once

#include <core/lab/claims/claim_result.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// All claims of a file, measured with one checkpoint.
struct ClaimsReport {
  std::string paper;
  std::string checkpoint;
  std::vector<std::pair<std::string, std::string>> facts;  ///< what it was measured on, name and value
  std::vector<ClaimResult> results;
};

/// What a quantity is, by the measure of its claim; empty: it explains itself.
using QuantityDoc = std::function<std::string(ClaimMeasure measure, const std::string& quantity)>;

/// A row for each claim.
TextTable claims_table(const ClaimsReport& report);

/// A row for each setting: a published number, or more, beside the measured one.
TextTable numbers_table(const ClaimResult& result, const std::string& quantity);

/// One page, with pictures.
std::string claims_html(const ClaimsReport& report, const QuantityDoc& doc);

/// Everything that the page shows, and every measured value.
std::string claims_json(const ClaimsReport& report);

}  // namespace drift
