#pragma once

#include <drift/loss_estimator.h>
#include <drift/params.h>
#include <drift/registry.h>

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// What a case says must come out. Only what it names is compared.
struct LossExpectation {
  std::optional<double> loss;
  std::map<std::string, double> metrics;
  std::vector<std::vector<double>> gradient_FL;  ///< d loss / d current log-probability; empty: not named
  double tolerance = 1e-7;                       ///< absolute
};

/// A loss on stored numbers: what `drift loss` evaluates, and what the golden values are written in
/// (docs/algorithms.md).
struct LossCase {
  std::string variant;  ///< empty for the case itself
  std::string loss;     ///< name of the loss it is written for; may be empty
  std::map<std::string, Parameter::Value> parameters;
  LossInput input;  ///< float64
  LossExpectation expected;
};

struct LossCaseResult {
  double loss = 0;
  std::map<std::string, double> metrics;
  at::Tensor gradient_FL;  ///< float64, 0 where nothing is scored
};

/// The case of a file and its variants. The case itself comes first unless it expects nothing and has variants.
/// @param entry  the loss that is to be evaluated: it says which types the parameters have. Where the case is written
///               for another loss, its parameters and expectations are left out.
/// @throws Error naming the file, the variant and the place of what is wrong.
std::vector<LossCase> read_loss_cases(const std::filesystem::path& file, const ComponentEntry& entry);

/// What the loss asks for with LossNeeds and the case lacks, as the file calls it: "reference".
std::vector<std::string> missing_fields(const LossEstimator& loss, const LossInput& input);

LossCaseResult evaluate_case(const LossEstimator& loss, const LossInput& input);

/// One line for everything that is not as expected; empty: all is.
std::vector<std::string> differences(const LossCaseResult& result, const LossExpectation& expected);

}  // namespace drift
