#pragma once

#include <core/config/document.h>
#include <core/config/schema.h>

#include <drift/params.h>
#include <drift/registry.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// One value of a run and where it came from.
struct ResolvedValue {
  std::string name;
  ParamValue value;
  Origin origin;
  bool is_path = false;
  KeyRole role = KeyRole::kResult;
};

struct ResolvedSection {
  std::string name;
  std::vector<ResolvedValue> values;  ///< in the order of their declaration
  Params params;                      ///< the same values
};

/// A checked configuration: every value that the run reads, of its declared type, within its range. Paths are absolute,
/// or empty: model.path, plugins.paths, and what a component declares as a text named `path`, `file`, `folder`, or with
/// such an ending (`held_out_file`), or as a list of texts with one of these words in the plural (`training_files`). In
/// a TOML file they count from that file, in a flag from the working folder.
class RunConfig {
 public:
  /// Sections that the purpose needs or that the files have: "run", "train", "algorithm.loss", "evaluation.rollout", …
  bool has(std::string_view section) const;

  /// The section's values; a component section holds its component's parameters beside the core's own keys, so that it
  /// is what the component's constructor gets.
  /// @throws Error if the section is not there (a mistake of the caller).
  const Params& section(std::string_view section) const;

  /// Name of the section's component: section(section).get<std::string>("name").
  std::string component(std::string_view section) const;

  const std::vector<ResolvedSection>& sections() const { return sections_; }

  /// "train.learning_rate"; null if it is none of the run's.
  const ResolvedValue* find(std::string_view key) const;

  /// What the algorithm's preset has to say to who takes it over, one line each: its notes on values that the run takes
  /// from it (one that a file or the command line sets is the user's own), and settings that the run's components lack.
  const std::vector<std::string>& preset_notes() const { return preset_notes_; }

  /// A TOML file that alone reproduces the run: every value, its origin as a comment. `drift config show` prints it.
  std::string resolved_toml() const;

 private:
  friend class Resolver;
  std::vector<ResolvedSection> sections_;
  std::vector<std::string> set_aside_;  ///< one line for each value that a change of component left without meaning
  std::vector<std::string> preset_notes_;
};

/// Where the document asks to look for plugins, absolute; to be loaded before resolve_config.
/// @throws ConfigError if plugins.paths is not a list of texts.
std::vector<std::filesystem::path> plugin_paths(const ConfigDocument& document);

/// Check the whole document against the core's sections and what the registered components declare.
///
/// A value comes from, the last wins: the declared default, the preset of the algorithm, the files in their order, the
/// command line. Parameters belong to the component they were written for: where a later file or flag names another
/// component, the earlier parameters of that section are set aside (for an algorithm also those of its masking strategy
/// and loss, for a task also the reward).
/// @throws ConfigError with every mistake found.
RunConfig resolve_config(const ConfigDocument& document, const Registry& registry, ConfigPurpose purpose);

}  // namespace drift
