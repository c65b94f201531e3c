#pragma once

#include <drift/error.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace drift {

namespace fs = std::filesystem;

class Ranks;
struct Command;

/// One option of a command.
struct Option {
  std::string name;   ///< without the two dashes
  std::string value;  ///< what --help calls its value; empty for a switch
  std::string doc;
  std::function<void(const std::string& text)> take;  ///< a mistake throws UsageError
  std::optional<double> default_value = {};
  bool required = false;
  bool repeatable = false;
  bool value_is_optional = false;         ///< without one, `take` gets an empty text
  bool is_setting = false;                ///< changes a value of the TOML file; --help lists these together
  std::string key = {};                   ///< the one value that it changes: "train.steps"
  std::vector<std::string> choices = {};  ///< its values, where there are no others
  /// What a shell offers as its value, besides its choices and what the name of the value says: words with | between;
  /// "names" of what plugins bring; "sections"; or a key, for its values. Empty: the values of `key`.
  std::string candidates = {};
};

/// A word that follows a command's name.
struct Argument {
  std::string name;
  bool required;
  std::function<void(const std::string& text)> take;
  bool repeats = false;
  std::vector<std::string> choices = {};  ///< as of an option
  std::string candidates = {};            ///< likewise
};

/// The parts between separators, without the spaces around them.
std::vector<std::string> split_list(const std::string& text, char separator);

/// Read the value of an option or argument into the member that it fills. @throws UsageError
/// @param name  as messages show it: "--jobs"
void read_value(const std::string& name, const std::string& text, std::string& member);
void read_value(const std::string& name, const std::string& text, std::optional<std::string>& member);
void read_value(const std::string& name, const std::string& text, std::filesystem::path& member);
void read_value(const std::string& name, const std::string& text, std::int64_t& member);  ///< a count from 1
void read_value(const std::string& name, const std::string& text, double& member);        ///< from 0
/// Names or token ids with commas between.
void read_value(const std::string& name, const std::string& text, std::vector<std::string>& member);
void read_value(const std::string& name, const std::string& text, std::vector<std::int64_t>& member);

/// What may follow a command's name: arguments, which are taken in the order in which they are declared, and options.
class OptionList {
 public:
  template <typename Member>
  Argument& argument(const std::string& name, Member& member, bool required = true) {
    return arguments_.emplace_back(
        Argument{name, required, [name, &member](const std::string& text) { read_value(name, text, member); }});
  }
  /// One or more of them, the last thing that is taken: "RUN...".
  template <typename Member>
  void repeated_argument(const std::string& name, std::vector<Member>& members) {
    arguments_.push_back({name + "...", /*required=*/true,
                          [name, &members](const std::string& text) { read_value(name, text, members.emplace_back()); },
                          /*repeats=*/true});
  }

  /// An option that fills a member. --help adds the default of a number: what the member holds now.
  template <typename Member>
  Option& add(const std::string& name, const std::string& value, const std::string& doc, Member& member) {
    Option& option = add_custom(name, value, doc,
                                [name, &member](const std::string& text) { read_value("--" + name, text, member); });
    if constexpr (std::is_arithmetic_v<Member>) option.default_value = static_cast<double>(member);
    return option;
  }
  /// One that may be given several times, each for a member more.
  void add_repeatable(const std::string& name, const std::string& value, const std::string& doc,
                      std::vector<std::string>& members) {
    add_custom(name, value, doc, [&members](const std::string& text) { members.push_back(text); }).repeatable = true;
  }
  Option& add_switch(const std::string& name, const std::string& doc, bool& member) {
    return add_custom(name, "", doc, [&member](const std::string&) { member = true; });
  }
  Option& add_custom(const std::string& name, const std::string& value, const std::string& doc,
                     std::function<void(const std::string& text)> take) {
    return options_.emplace_back(Option{name, value, doc, std::move(take)});
  }

  const std::vector<Option>& options() const { return options_; }
  const std::vector<Argument>& argument_list() const { return arguments_; }

  /// "CONFIG.toml"; what may be left out in brackets.
  std::string arguments() const;
  /// Every option with its explanation, for --help.
  std::string describe() const;
  /// Fill the members. @throws UsageError
  void parse(const Command& command, const std::vector<std::string>& words) const;

 private:
  std::vector<Argument> arguments_;
  std::vector<Option> options_;
};

/// What a command says of itself.
struct CommandText {
  std::string name;     ///< "train", "plugin info"
  std::string summary;  ///< one line of `drift --help`
  std::string help;     ///< what it does, for `drift COMMAND --help`
  std::string example;  ///< without "drift"; commands that must run before it stand on lines before it
  bool hidden = false;  ///< not in `drift --help`: for makers of packages and pages
};

struct Command : CommandText {
  OptionList options;
  std::function<int()> run;  ///< returns the exit status
};

/// A command with options of its own:
///
///     struct GreetOptions { std::string name; std::int64_t times = 1; };
///     int greet(const GreetOptions& options);
///
///     Command greet_command() {
///       return make_command<GreetOptions>(
///           {"greet", "say hello", "Greets NAME.", "greet World --times 2"}, greet,
///           [](OptionList& list, GreetOptions& options) {
///             list.argument("NAME", options.name);
///             list.add("times", "N", "how often", options.times);
///           });
///     }
template <typename Options>
Command make_command(const CommandText& text, int (*run)(const Options&), void (*declare)(OptionList&, Options&)) {
  const auto options = std::make_shared<Options>();
  OptionList list;
  declare(list, *options);
  return {text, list, [run, options] { return run(*options); }};
}

constexpr int kMistaken = 2;  ///< exit status where the command line or the configuration is wrong

/// Every command, in the order of --help.
const std::vector<Command>& all_commands();

/// The words that continue `beginning`, "" or "plugin ", to a command.
std::vector<std::string> next_words(const std::string& beginning);

/// Text of `drift COMMAND --help`.
std::string help_of(const Command& command);

/// `drift help WORD` where the word is no command's: a key, a section, a metric, an algorithm, component or plugin.
/// @throws UsageError with the nearest word
int print_topic(const std::string& word, bool json = false);

/// Find the command and run it, or print help. @return the exit status. @throws UsageError, and what commands throw
int run_command_line(std::vector<std::string> words);

/// @param lacking  how the message begins: "the suite has no task"
/// @param what     what the known ones are: "tasks"
/// @throws UsageError with the nearest one if `name` is not known
void require_known(const std::string& lacking, const std::string& name, const std::vector<std::string>& known,
                   const std::string& what);

/// The command line of this process as a shell takes it.
/// @param out  follows as --out where none was given and this is not empty
std::string typed_command(const std::filesystem::path& out = {});

/// body() on every rank, and the end of all communication. Of several ranks the first one reports an error, and all
/// end; another rank tells the first one, and prints only if that does not end the run.
/// @return what body() returned
int ended_together(Ranks& ranks, const std::function<int()>& body);

/// A command line that cannot be understood: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Each is defined where the command is implemented: train_command.cpp, …
Command train_command(), pretrain_command(), sweep_command(), eval_command(), eval_diff_command(), generate_command();
Command report_command(), watch_command(), runs_command(), plan_command(), claims_command(), rollout_verify_command(),
    fidelity_command();
Command model_info_command(), model_verify_command(), model_describe_command(), model_merge_command(),
    model_random_command();
Command data_check_command(), tokenize_command(), reward_command(), loss_command(), doctor_command();
Command config_show_command(), config_docs_command(), reference_command();
Command plugin_list_command(), plugin_info_command(), plugin_check_command();
Command completion_command(), sdk_command(), sdk_new_command();

}  // namespace drift
