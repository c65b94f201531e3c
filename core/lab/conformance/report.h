#pragma once

// `drift plugin check`: examines a plugin's file in child processes, one for each component, so that whatever the
// plugin does is a finding of its own.

#include <core/lab/conformance/examination.h>
#include <core/lab/conformance/rules.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace drift {

struct CheckRequest {
  std::filesystem::path file;
  std::string component;                ///< "loss/soft_clip"; empty: all
  std::set<std::string> rules;          ///< empty: all
  std::vector<std::string> set;         ///< "PARAMETER=VALUE": for parameters that a component cannot be made without
  std::filesystem::path model_config;   ///< a config.json for models
  std::vector<std::string> references;  ///< for rewards: what they judge by
  double timeout = 60;                  ///< seconds for one rule
};

struct CheckReport {
  std::string plugin;  ///< a table of what the file is and registers; empty: it could not be loaded
  std::vector<Outcome> outcomes;
  std::vector<std::string> unexamined;  ///< components of which no rule could be tried

  bool passes() const { return findings() == 0 && unexamined.empty(); }
  std::size_t findings() const;
};

/// @param program  the `drift` that examines in the children
CheckReport check_plugin(const CheckRequest& request, const std::filesystem::path& program);

/// Loads a file in a child process.
/// @throws Error if the child finds something wrong with it, or does not survive it
void try_loading(const std::filesystem::path& file, const std::filesystem::path& program);

/// One table for each component.
std::string report_text(const CheckReport& report);
/// {"outcomes": [{"component", "rule", "verdict", "text", "seconds"}, …], "findings": 1, "unexamined": []}
std::string report_json(const CheckReport& report);

/// What a child does: loads the file and examines the request's component or, if it names none, the declarations;
/// one JSON object a line on standard output, as it happens. What the plugin prints goes to standard error.
/// @return whether nothing was found
bool examine_here(const CheckRequest& request);

}  // namespace drift
