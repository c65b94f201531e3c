#include <core/cli/load_run.h>
#include <core/config/diagnostic.h>
#include <core/config/nearest.h>
#include <core/report/terminal.h>

#include <drift/export.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>

namespace drift {
namespace {

constexpr int kFailed = 1;
constexpr int kMistaken = 2;  // the command line or the configuration

std::string overview() {
  std::string text =
      "drift: reinforcement learning for masked diffusion language models\n\nusage: drift COMMAND [options]\n\n";
  for (const Command& command : commands()) {
    std::string left = "  " + command.name + " " + command.options.arguments();
    left.resize(std::max<std::size_t>(30, left.size() + 2), ' ');
    text += left + command.summary + "\n";
  }
  return text + "\nexample: drift train configs/quickstart.toml\nmore:    drift COMMAND --help\n";
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

const Command* find_command(const std::string& name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// The words that continue `beginning`, "" or "plugin ", to a command.
std::vector<std::string> continuations(const std::string& beginning) {
  std::vector<std::string> words;
  for (const Command& command : commands()) {
    if (!command.name.starts_with(beginning)) continue;
    const std::string rest = command.name.substr(beginning.size());
    if (const std::string word = rest.substr(0, rest.find(' ')); std::ranges::count(words, word) == 0)
      words.push_back(word);
  }
  return words;
}

[[noreturn]] void unknown_command(const std::string& first, const std::string& second) {
  const bool is_family = !continuations(first + " ").empty();
  const std::string beginning = is_family ? first + " " : "", word = is_family ? second : first;
  const auto known = continuations(beginning);
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
  for (const Command& command : commands()) {
    if (command.name == name || command.name.starts_with(name + " "))
      text += (text.empty() ? "" : "\n") + help_of(command);
  }
  if (text.empty()) unknown_command(name, "");
  std::cout << text;
  return 0;
}

int run_command(std::vector<std::string> words) {
  if (words.empty() || (words.size() == 1 && (asks_for_help(words[0]) || words[0] == "help"))) {
    std::cout << overview();
    return words.empty() ? kMistaken : 0;
  }
  if (words[0] == "--version") words[0] = "version";
  if (words[0] == "help") {
    // `drift help plugin info` is `drift plugin info --help`.
    words.erase(words.begin());
    words.push_back("--help");
  }
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

void print_error(const std::string& what, const std::string& hint, bool colour) {
  std::cerr << (colour ? "\033[1;31merror\033[0m: " : "error: ") << what << "\n";
  if (!hint.empty()) std::cerr << "  = " << hint << "\n";
}

}  // namespace
}  // namespace drift

DRIFT_API int main(int argc, char** argv) {
  using namespace drift;
  const TerminalOptions terminal = detect_terminal(2);
  const bool colour = terminal.is_terminal && terminal.color;
  // A file-size limit is then a failed write, which is reported, and not a signal that ends the program.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = run_command({argv + 1, argv + argc});
    if (!std::cout.flush())
      throw Error("standard output cannot be written", "the disk may be full, or the reader gone");
    return status;
  } catch (const ConfigError& error) {
    std::cerr << error.text(colour);
    return kMistaken;
  } catch (const UsageError& error) {
    print_error(error.what(), error.hint(), colour);
    return kMistaken;
  } catch (const Error& error) {
    print_error(error.what(), error.hint(), colour);
  } catch (const std::bad_alloc&) {
    print_error("out of memory", "a smaller memory_budget_mib, fewer prompts_per_step, or a shorter rollout", colour);
  } catch (const c10::Error& error) {
    print_error(error.what_without_backtrace(), "", colour);
  } catch (const std::exception& error) {
    print_error(error.what(), "", colour);
  }
  return kFailed;
}
