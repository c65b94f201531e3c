#pragma once

#include <core/config/document.h>
#include <core/config/run_settings.h>
#include <core/config/schema.h>
#include <core/config/training_settings.h>

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
  Parameter::Value value;
  Origin origin;
  bool is_path = false;
  KeyEffect effect;
};

/// What somebody should know of a run, in one line: about all of it, or about a setting of the command line, of the
/// file that the user named, or of a preset or an extended file.
struct RunNote {
  enum class About { kRun, kCommandLine, kFile, kShared };
  std::string text;
  About about = About::kRun;
};

struct ResolvedSection {
  std::string name;
  std::vector<ResolvedValue> values;  ///< in the order of their declaration
  Parameters params;                  ///< the same values
};

/// A checked configuration: every value that the run reads, of its declared type, within its range. Paths (what is
/// declared as `path` or `paths`) are absolute, or empty. In a TOML file they count from that file, in a flag from the
/// working folder.
class RunConfig {
 public:
  /// Sections that the purpose needs or that the files have: "run", "train", "algorithm.loss", "evaluation.rollout", …
  bool has(std::string_view section) const;

  /// The section's values; a component section holds its component's parameters beside the core's own keys, so that it
  /// is what the component's constructor gets.
  /// @throws Error if the section is not there (a mistake of the caller).
  const Parameters& section(std::string_view section) const;

  /// A section as its struct (run_settings.h, training_settings.h).
  template <class Settings>
  Settings get(std::string_view section = Settings::kSection) const {
    return settings_from<Settings>(this->section(section));
  }

  /// Name of the section's component: section(section).get<std::string>("name").
  std::string component(std::string_view section) const;

  const std::vector<ResolvedSection>& sections() const { return sections_; }

  /// "train.learning_rate"; null if it is none of the run's.
  const ResolvedValue* find(std::string_view key) const;

  /// Replaces a value that was left to the machine by what the machine decides, so that the run's own file has it.
  /// @param why  its origin
  void settle(std::string_view key, const Parameter::Value& value, const std::string& why);

  /// Values that have no effect, since the component that was chosen later does not take them; evaluation that may no
  /// longer be greedy for that reason; and the preset's notes on values that the run takes from it (one that a file or
  /// the command line sets is the user's own).
  const std::vector<RunNote>& notes() const { return notes_; }

  /// Those to be said before work begins. Nobody wrote the settings of presets and shared files: one line counts them.
  /// @param file_is_known  another command has said what the file has
  std::vector<std::string> warnings(bool file_is_known = false) const;

  /// A TOML file that alone reproduces the run: every value, its origin as a comment, the notes below.
  /// `drift config show` prints it.
  /// @param folder  where the file will lie: paths below the working folder are then written relative to it, if it lies
  ///                there too, with `paths_from` (load_document), so that the file can be moved with them or alone
  std::string resolved_toml(const std::filesystem::path& folder = {}) const;

 private:
  friend class Resolver;
  std::vector<ResolvedSection> sections_;
  std::vector<RunNote> notes_;
};

/// Where the document asks to look for plugins, absolute; to be loaded before resolve_config.
/// @throws ConfigError if plugins.paths is not a list of texts.
std::vector<std::filesystem::path> plugin_paths(const ConfigDocument& document);

/// Check the whole document against the core's sections and what the registered components declare.
///
/// A value comes from, the last wins: the declared default, the preset of the algorithm, the files in their order, the
/// command line. Where a later file or flag names another component, what was written for the one before stays if this
/// one takes it: a parameter of that name whose type and range allow the value. The rest is set aside, with a note.
/// Another algorithm brings its own masking strategy and loss, another task its own reward.
/// @throws ConfigError with every mistake found.
RunConfig resolve_config(const ConfigDocument& document, const Registry& registry, ConfigPurpose purpose);

}  // namespace drift
