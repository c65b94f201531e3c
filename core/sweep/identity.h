#pragma once

// What makes two runs, or the responses of two evaluations, the same: the settings that decide them.

#include <core/config/run_config.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// What is to be known again.
enum class IdentityOf {
  kRun,        ///< a run and all that is measured of it, its times and memory included
  kTraining,   ///< a run's weights: it goes on as if it had never stopped, and may be made longer
  kResponses,  ///< an evaluation's responses and their judgement
};

/// Tells which settings of a configuration count: its keys are declared with their role (core/config/schema.h).
///
/// A path counts by what lies there, wherever that is. Responses do without the paths of [model] and [task]: beside
/// them lie the checksum of their checkpoint and the items that they answer.
class Identity {
 public:
  /// "train.steps" and its value as TOML, or "content CHECKSUM", in the order of the configuration.
  std::vector<std::pair<std::string, std::string>> settings(const RunConfig& config, IdentityOf what);

  /// A checksum of the settings that count, 16 hexadecimal digits.
  std::string key(const RunConfig& config, IdentityOf what);

 private:
  std::string text(const ResolvedValue& value);
  std::string content(const std::filesystem::path& path);

  std::map<std::filesystem::path, std::string> contents_;  ///< many configurations share a checkpoint
};

/// One setting that two sets have otherwise; "nothing" stands for a set that lacks it.
struct Difference {
  std::string key;
  std::string there;
  std::string here;

  std::string text() const { return key + ": " + there + " there, " + here + " here"; }
};

/// By key, those first that name a component: others follow from them.
std::vector<Difference> differences(const std::map<std::string, std::string>& there,
                                    const std::map<std::string, std::string>& here);

/// The first lines for a message, each on a line of its own below it.
std::string listed(const std::vector<std::string>& lines);
std::string listed(const std::vector<Difference>& differences);

}  // namespace drift
