#pragma once

// Claims of a paper as a TOML file: what is claimed, what is measured for it and what the paper printed. docs/paper.md
// describes it. No claim is known to the program.

#include <core/config/document.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// What a claim is measured on.
enum class ClaimMeasure {
  kTokens,   ///< the tokens of responses: with which probability and from which entropy each was committed
  kUpdates,  ///< one update of several settings on the same responses, without changing the weights
  kRuns,     ///< the finished runs of a sweep
};

/// What differs between the things that a claim compares.
struct ClaimSetting {
  std::string name;
  std::vector<ConfigOverride> set;
  std::optional<double> x;  ///< its place in a picture; none: a bar
};

/// A number that the paper printed.
struct PublishedNumber {
  std::string quantity;
  std::string setting;  ///< empty where there is only one
  std::string of;       ///< model and task
  double value = 0;
};

/// What must be so if the claim holds: more > times * less, or a quantity beyond a bound.
struct Expectation {
  std::string quantity;
  std::string more, less;  ///< settings
  double times = 1;
  std::string setting;  ///< whose quantity the bounds are for; empty where there is only one
  std::optional<double> above, below;

  /// "gradient_norm: a > 10 times b"
  std::string text() const;
};

struct Claim {
  std::string name;
  std::string title;
  std::string statement;  ///< the claim in a sentence
  std::string source;     ///< section, table or figure
  std::string note;       ///< what to know of the measurement; may be empty
  ClaimMeasure measure = ClaimMeasure::kTokens;
  std::vector<std::string> quantities;  ///< what is shown, in this order
  std::vector<ClaimSetting> settings;   ///< kUpdates; of kRuns they are the sweep's
  std::string reference;                ///< setting that `cosine` compares with; may be empty
  std::int64_t draws = 1;               ///< plans that each setting draws of the same responses
  std::filesystem::path sweep;          ///< kRuns
  std::vector<std::string> lines;       ///< kRuns: values of the compared axis that are shown; empty: all
  std::vector<PublishedNumber> published;
  std::vector<Expectation> expect;  ///< empty: the numbers are shown without a verdict
};

struct ClaimsFile {
  std::filesystem::path file;
  std::string paper;
  std::vector<Claim> claims;
};

/// @throws Error naming file, line and what was expected
ClaimsFile read_claims_file(const std::filesystem::path& file);

}  // namespace drift
