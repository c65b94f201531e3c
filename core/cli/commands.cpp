#include <core/base/child_process.h>
#include <core/cli/load_run.h>
#include <core/config/nearest.h>
#include <core/report/metric_reference.h>
#include <core/report/section_reference.h>

#include <drift/abi.h>

#include <algorithm>
#include <iostream>

namespace drift {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> all = {
      train_command(),          pretrain_command(),     sweep_command(),        eval_command(),
      eval_diff_command(),      claims_command(),       report_command(),       watch_command(),
      runs_command(),           fidelity_command(),     generate_command(),     plan_command(),
      rollout_verify_command(), model_info_command(),   model_verify_command(), model_describe_command(),
      model_merge_command(),    model_random_command(), data_check_command(),   tokenize_command(),
      plugin_list_command(),    plugin_info_command(),  plugin_check_command(), reward_command(),
      loss_command(),           config_show_command(),  config_docs_command(),  reference_command(),
      completion_command(),     doctor_command(),       sdk_command(),          sdk_new_command()};
  return all;
}

namespace {

std::string overview() {
  std::string text =
      "drift: reinforcement learning for masked diffusion language models\n\nusage: drift COMMAND [options]\n\n";
  for (const Command& command : all_commands()) {
    if (command.hidden) continue;
    std::string left = "  " + command.name + " " + command.options.arguments();
    left.resize(34, ' ');
    text += left + command.summary + "\n";
  }
  return text +
         "\nexample: drift train configs/quickstart.toml\n"
         "more:    drift COMMAND --help, drift help KEY, drift --version\n";
}

std::vector<std::string> typed_words;

const Command* find_command(const std::string& name) {
  const auto found = std::ranges::find(all_commands(), name, &Command::name);
  return found == all_commands().end() ? nullptr : &*found;
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// Whether it begins a command: `plugin` does.
bool is_command(const std::string& word) {
  return find_command(word) != nullptr || !next_words(word + " ").empty() || word == "help";
}

[[noreturn]] void unknown_command(const std::string& first, const std::string& second) {
  const bool is_family = !next_words(first + " ").empty();
  const std::string beginning = is_family ? first + " " : "", word = is_family ? second : first;
  const auto known = next_words(beginning);
  if (word.empty())
    throw UsageError("`drift " + first + "` expects one of: " + joined(known), "drift " + first + " --help");
  const std::string nearest = nearest_name(word, known);
  throw UsageError("unknown command `" + beginning + word + "`",
                   (nearest.empty() ? "" : "did you mean `drift " + beginning + nearest + "`?\n  = ") +
                       "commands: " + joined(known) + "    (drift --help)");
}

/// The help of a command and of those whose names begin with its name: `drift plugin --help`.
int print_help(const std::string& name) {
  std::string text;
  for (const Command& command : all_commands()) {
    if (command.name == name || command.name.starts_with(name + " "))
      text += (text.empty() ? "" : "\n") + help_of(command);
  }
  if (text.empty()) unknown_command(name, "");
  if (find_command(name) == nullptr && documented_section(name) != nullptr) {  // `drift help rollout`
    std::cout << text << "\n";
    return print_topic(name);
  }
  if (documented_section(name) != nullptr)
    text += "\nkeys of [" + name + "] in a run's file: drift config docs " + name + "\n";
  if (const std::string metric = metric_text(name); !metric.empty()) text += "\n" + metric;
  std::cout << text;
  return 0;
}

/// What a bug report should say.
int print_version() {
  std::cout << "drift " DRIFT_VERSION "\n"
            << "core ABI " << DRIFT_ABI_MAJOR << "." << DRIFT_ABI_MINOR << "\n"
            << "LibTorch " TORCH_VERSION "\n"
            << "built by " DRIFT_BUILD_COMPILER " for " DRIFT_BUILD_PLATFORM ", " DRIFT_BUILD_TYPE "\n";
  return 0;
}

}  // namespace

std::vector<std::string> next_words(const std::string& beginning) {
  std::vector<std::string> words;
  for (const Command& command : all_commands()) {
    if (command.hidden || !command.name.starts_with(beginning)) continue;
    const std::string rest = command.name.substr(beginning.size());
    if (const std::string word = rest.substr(0, rest.find(' ')); std::ranges::count(words, word) == 0)
      words.push_back(word);
  }
  return words;
}

std::string help_of(const Command& command) {
  std::string example;
  for (const char c : with_installed_names(command.example))
    example += c == '\n' ? "\n         drift " : std::string(1, c);
  const std::string arguments = command.options.arguments();
  return "drift " + command.name + ": " + command.summary + "\n\nusage: drift " + command.name +
         (arguments.empty() ? "" : " ") + arguments + " [options]\n\n" + command.help + "\n\n" +
         command.options.describe() + "\nexample: drift " + example + "\n";
}

int run_command_line(std::vector<std::string> words) {
  typed_words = words;
  if (words.size() > 1 && words[0] == "help") {
    const bool json = std::erase(words, "--json") > 0;
    if (words.size() == 2 && !asks_for_help(words[1]) && (json || !is_command(words[1])))
      return print_topic(words[1], json);
    // `drift help plugin info` is `drift plugin info --help`.
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (words.empty() || asks_for_help(words[0]) || words[0] == "help") {
    std::cout << overview();
    return words.empty() ? kMistaken : 0;
  }
  if (words == std::vector<std::string>{"--version"}) return print_version();
  const bool help = std::ranges::any_of(words, asks_for_help);
  const std::string first = words[0], second = words.size() > 1 ? words[1] : "";
  const Command* command = find_command(first + " " + second);
  words.erase(words.begin(), words.begin() + (command == nullptr ? 1 : 2));
  if (command == nullptr) {
    if (asks_for_help(second) || second == "help") return print_help(first);
    command = find_command(first);  // `eval` is a command, and `eval diff` another
  }
  if (command == nullptr) unknown_command(first, second);
  if (help) return print_help(command->name);
  command->options.parse(*command, words);
  return command->run();
}

std::string typed_command(const std::filesystem::path& out) {
  std::vector<std::string> words = typed_words;
  words.insert(words.begin(), "drift");
  const auto is_out = [](const std::string& word) { return word == "--out" || word.starts_with("--out="); };
  if (!out.empty() && std::ranges::none_of(words, is_out)) words.insert(words.end(), {"--out", out.string()});
  return shell_command(words);
}

}  // namespace drift
