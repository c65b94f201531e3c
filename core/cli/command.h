#pragma once

#include <core/config/document.h>

#include <drift/error.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// What the user typed, for every command; each command reads what it declares in commands.cpp.
struct CommandLine {
  std::filesystem::path config;      ///< CONFIG.toml or --config; for a run's checkpoint the run's own; empty: none
  std::filesystem::path checkpoint;  ///< CHECKPOINT_DIR, as it was typed
  std::string name;                  ///< NAME, FILE or PATH of `plugin info`, `plugin check`, `tokenize`
  std::vector<ConfigOverride> overrides;  ///< --set and the short forms; for a checkpoint also model.path
  std::filesystem::path out;              ///< --out; empty: runs/NAME
  bool resume = false;
  std::int64_t jobs = 1;                ///< --jobs of `sweep`: runs at a time
  bool dry_run = false;                 ///< --dry-run of `train` and `sweep`
  bool report = false;                  ///< --report of `sweep`
  std::string purpose;                  ///< --for of `config show`
  std::optional<std::string> prompt;    ///< --prompt
  std::vector<std::int64_t> token_ids;  ///< --token-ids, --decode
  std::optional<std::string> text;      ///< --text of `tokenize`
  bool decode = false;                  ///< --decode; its ids, if it has any, are token_ids
  std::filesystem::path in;             ///< --in, --case
  std::optional<std::int64_t> items;    ///< --items of `data`
  std::string id;                       ///< --id of `data show`
  bool clean_up = false;                ///< --clean-up
  bool keep_special = false;
  bool json = false;
  bool show_steps = false;
  bool prefix = false;              ///< --prefix of `sdk`
  std::filesystem::path reference;  ///< --reference
  std::string variant;              ///< --variant
  double tolerance = 0;             ///< --tolerance
  double relative_tolerance = 0;    ///< --relative-tolerance

  std::filesystem::path suite;                 ///< --suite of `eval`
  std::vector<std::string> tasks;              ///< --tasks of `eval`; empty: all
  std::vector<std::filesystem::path> results;  ///< the two of `eval diff`
};

/// One command: what parses it, what --help says, what runs it.
struct Command {
  std::string name;      ///< "train", "plugin info"
  std::string argument;  ///< "CONFIG.toml"; empty: none
  bool argument_required = false;
  std::string summary;               ///< one line of `drift --help`
  std::string help;                  ///< what it does, for `drift COMMAND --help`
  std::string example;               ///< the line after the program's name
  std::vector<std::string> options;  ///< names of options in options.cpp
  int (*run)(const CommandLine&);    ///< @return the exit status
};

/// All of them, in the order in which --help lists them.
const std::vector<Command>& commands();

/// A command line that cannot be understood: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// @throws UsageError, ConfigError (a --set without =)
CommandLine parse_arguments(const Command& command, const std::vector<std::string>& arguments);
/// The options of a command, for its --help.
std::string describe_options(const Command& command);

// One file each: train_command.cpp, …
int run_train(const CommandLine& line);
int run_pretrain(const CommandLine& line);
int run_sweep(const CommandLine& line);
int run_eval(const CommandLine& line);
int run_eval_diff(const CommandLine& line);
int run_generate(const CommandLine& line);
int run_model_info(const CommandLine& line);
int run_model_verify(const CommandLine& line);
int run_data_stats(const CommandLine& line);
int run_data_show(const CommandLine& line);
int run_data_check(const CommandLine& line);
int run_tokenize(const CommandLine& line);
int run_plugin_list(const CommandLine& line);
int run_plugin_info(const CommandLine& line);
int run_plugin_check(const CommandLine& line);
int run_plugin_presets(const CommandLine& line);
int run_reward(const CommandLine& line);
int run_loss(const CommandLine& line);
int run_config_show(const CommandLine& line);
int run_doctor(const CommandLine& line);
int run_sdk(const CommandLine& line);
int run_version(const CommandLine& line);

}  // namespace drift
