#pragma once

#include <core/config/diagnostic.h>

#include <drift/params.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Where a value was written.
struct Origin {
  enum class Kind {
    kFile,         ///< `where` is the file
    kCommandLine,  ///< `where` is the flag with its value
    kPreset,       ///< `where` names the preset and its algorithm
    kDerived,      ///< `where` says from what: another section, the checkpoint
    kDefault,
  };
  Kind kind = Kind::kDefault;
  std::string where;
  TextSpan key;                  ///< the key in the file, or in the flag
  TextSpan value;                ///< the value, likewise
  std::string preset_file = {};  ///< kPreset: the file that `key` and `value` stand in

  /// One line for people: "run.toml:14", "--set train.steps=20", "preset paper of …", "default".
  std::string text() const;
};

/// One value as it was written.
struct ConfigLeaf {
  std::optional<Parameter::Value>
      value;          ///< empty where TOML holds what no parameter can be: a date, a list of numbers
  std::string found;  ///< what was written, for messages: "a date"
  Origin origin;
  std::filesystem::path folder;              ///< what a relative path in it counts from
  std::filesystem::path former_folder = {};  ///< `paths_from` of its file, for a path that leads nowhere from `folder`
  bool optional = false;                     ///< passed over where the component has no such parameter

  /// The value as TOML has it; what was found where it is none.
  std::string text() const { return value ? to_toml(*value) : found; }
  /// Where a path in it leads.
  std::filesystem::path place_of(const std::filesystem::path& path) const;
  /// The same for a value that is a path or a list of paths; an empty one stays empty.
  void make_absolute(Parameter::Value& value) const;
};

/// One file, or the command line: dotted keys as TOML writes them ("algorithm.masking.k").
struct ConfigLayer {
  std::map<std::string, ConfigLeaf> leaves;
  std::map<std::string, Origin> tables;
};

/// One setting from the command line.
struct ConfigOverride {
  std::string flag;       ///< as messages show it: "--set train.steps=20", "--steps 20"
  std::string key;        ///< "train.steps"
  std::string value;      ///< "20"
  bool literal = false;   ///< the value is text as it stands; else TOML, or text where it is none
  bool optional = false;  ///< ConfigLeaf::optional

  /// From the text after --set. @throws ConfigError if there is no `=`.
  static ConfigOverride from_set(const std::string& assignment);
};

/// The files and the command line of one run, read but not yet checked.
struct ConfigDocument {
  std::string file;                                       ///< as the user wrote it; empty: there is none
  std::vector<ConfigLayer> layers;                        ///< the last one wins, key by key
  std::map<std::string, std::vector<std::string>> lines;  ///< of every file, for messages

  /// A mistake at a place in the document.
  Diagnostic at(const Origin& origin, const TextSpan& span, std::string message) const;
};

/// A file that another one extends without naming it under `extends`.
struct ExtendedFile {
  std::filesystem::path file;
  Diagnostic asked_by;  ///< what is said, with its own message, where the file cannot be read
};

/// Read `file` (may be empty), what it extends, and the command line.
///
/// `extends = ["a.toml", "b.toml"]` at the top of a file, relative to that file: b wins over a, the file over both.
/// "drift:configs/quickstart.toml" ships with Drift. A file that several others extend counts once, at its first place.
/// `further` files come after those that it names. `paths_from = "FOLDER"` at the top: relative paths count from there
/// if they lead nowhere from the file's own folder. The file that a run writes has it, and can so be moved with what it
/// names or without. `[optional]` has settings for components that have such a parameter, as in a preset: the file is
/// used with several algorithms.
/// @throws ConfigError with every syntax error, missing file and cycle.
ConfigDocument load_document(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides,
                             const std::vector<ExtendedFile>& further = {});

/// The file that a parameter's path names: that of "my_loss.py:SoftClip", something in a file, is "my_loss.py".
std::filesystem::path file_of(const std::filesystem::path& path);

/// "a.b.c" -> "a.b" and "c"; a key without a point lies in section "".
std::string_view section_of(std::string_view key);
std::string_view name_of(std::string_view key);

/// Good for a file or a folder.
bool is_plain_name(std::string_view name);

}  // namespace drift
