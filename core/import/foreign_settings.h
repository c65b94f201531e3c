#pragma once

// What another program's configuration says, whatever it is written in: keys with points between, as "rollout.steps".

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drift {

/// A value as it was written: nothing is known of its type.
struct ForeignValue {
  std::vector<std::string> texts;  ///< one; of a list, its elements; none for null and an empty list
  bool is_list = false;
  std::string origin;  ///< "train.yaml:12 num_generations"

  bool is_null() const { return texts.empty(); }
  /// "32"; of a list "32, 4"; "null"
  std::string text() const;
};

struct ForeignSettings {
  std::vector<std::string> files;                            ///< those that were read, as they were named
  std::vector<std::pair<std::string, ForeignValue>> values;  ///< in the order in which they were first met
  std::vector<std::string> remarks;                          ///< what was left out, and why

  /// A value that stands already is replaced: the command line goes over the file that it names.
  void set(const std::string& key, ForeignValue value);
  /// Null if there is none.
  const ForeignValue* find(std::string_view key) const;
};

/// A YAML file (.yaml, .yml) or a shell script that starts a program, with `words` over it as if they stood at the end
/// of the command: --key value, --key=value, key=value. The file that a script names as `--config FILE` or
/// `config=FILE` is read before.
/// @throws Error naming file and line
ForeignSettings read_foreign_settings(const std::filesystem::path& file, const std::vector<std::string>& words);

/// The values of a YAML text; ${other.key} is replaced. Nothing is kept of `name` but for messages and origins.
/// @throws Error
void add_yaml(const std::string& text, const std::string& name, ForeignSettings& settings);

/// One word of a shell command.
struct ShellWord {
  std::string text;
  int line = 0;  ///< 0: on no line of a file
};

/// The command of a script that has the most options, with the values of the script's variables in it.
/// @param remarks  what else looks like an option
std::vector<ShellWord> longest_command(const std::string& script, const std::string& name,
                                       std::vector<std::string>& remarks);

/// The options of a command. Those before the program (*.py) are its launcher's: "launcher.num_processes".
/// @param name  of the script; empty: the words were given to Drift
std::vector<std::pair<std::string, ForeignValue>> options_of(const std::vector<ShellWord>& words,
                                                             const std::string& name);

}  // namespace drift
