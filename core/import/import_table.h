#pragma once

// What the keys of another program's configuration are called here: a file of configs/import. docs/migration.md
// describes it.

#include <core/import/foreign_settings.h>

#include <drift/params.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// Keys of a run's TOML with their values; "extends" is a list of files that are added to those of other rules.
using ImportedValues = std::vector<std::pair<std::string, ParamValue>>;

struct ImportRule {
  std::string from;                              ///< their key; empty: the rule holds for every file
  std::vector<std::string> to;                   ///< our keys, which all get the value
  std::map<std::string, ImportedValues> values;  ///< by their text; "*": any other. Keys are ours
  bool open = false;                             ///< a text that `values` does not have goes to `to` as it is
  bool list = false;                             ///< ours is a list: all of theirs
  std::string pattern;                           ///< the value with {} for theirs: "data/{}.json"
  std::vector<std::string> times, over;          ///< their keys: factors and divisors
  std::map<std::string, std::vector<std::string>>
      when;               ///< their key: patterns with *, of which one fits; "!…" must not
  std::string define;     ///< a name for the rule's number, for `times`, `over` and `when`
  std::string why;        ///< why nothing corresponds, or what to know of the value
  std::string otherwise;  ///< why a text that `values` does not have is left out

  bool has_counterpart() const { return !to.empty() || !values.empty() || !define.empty(); }
};

struct ImportTable {
  std::filesystem::path file;
  std::string name, title, repository;
  std::vector<std::string> has, lacks;          ///< keys by which a configuration is recognised
  std::map<std::string, std::string> defaults;  ///< what their program has where the file is silent
  std::vector<ImportRule> rules;

  bool knows(const std::string& key) const;
};

/// `extends = "file.toml"`: the rules and defaults of another table hold too, where this one has none for the key.
/// @throws Error naming file, line and what was expected
ImportTable read_import_table(const std::filesystem::path& file);

/// Those that ship, by name.
std::vector<ImportTable> shipped_import_tables();

/// The table that is for these settings: the one called `name`, or, if that is empty, the one that recognises them and
/// knows most of their keys. @throws Error if there is none, or there are several
const ImportTable& table_for(const std::vector<ImportTable>& tables, const ForeignSettings& settings,
                             const std::string& name);

/// Whether a text fits a pattern with * for any characters, upper and lower case alike.
bool fits(std::string_view text, std::string_view pattern);

}  // namespace drift
