#include <core/boundary/last_word.h>
#include <core/boundary/plugin_call.h>
#include <core/cli/command.h>
#include <core/config/diagnostic.h>
#include <core/config/nearest.h>
#include <core/report/terminal.h>

#include <drift/export.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace drift {
namespace {

constexpr int kFailed = 1;
constexpr int kMistaken = 2;  // the command line or the configuration

std::string help() {
  std::string text =
      "drift: reinforcement learning for masked diffusion language models\n\nusage: drift COMMAND [options]\n\n";
  for (const Command& command : commands()) {
    std::string left = "  " + command.name + (command.argument.empty() ? "" : " " + command.argument);
    left.resize(std::max<std::size_t>(30, left.size() + 2), ' ');
    text += left + command.summary + "\n";
  }
  return text + "\nexample: drift train configs/quickstart.toml\nmore:    drift COMMAND --help\n";
}

std::string help(const Command& command) {
  const std::string argument = command.argument.empty()    ? ""
                               : command.argument_required ? " " + command.argument
                                                           : " [" + command.argument + "]";
  return "drift " + command.name + ": " + command.summary + "\n\nusage: drift " + command.name + argument +
         " [options]\n\n" + command.help + "\n\n" + describe_options(command) + "\nexample: drift " + command.example +
         "\n";
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find_if(commands(), [&](const Command& c) { return c.name == name; });
  return found == commands().end() ? nullptr : &*found;
}

bool is_help(const std::string& argument) { return argument == "--help" || argument == "-h" || argument == "help"; }

/// "plugin" of "plugin list": the commands that start so, without that word; empty if there are none.
std::vector<std::string> second_words(const std::string& first) {
  std::vector<std::string> words;
  for (const Command& command : commands()) {
    if (command.name.starts_with(first + " ")) words.push_back(command.name.substr(first.size() + 1));
  }
  return words;
}

[[noreturn]] void unknown_command(const std::string& prefix, const std::string& name,
                                  const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(name, known);
  throw UsageError("unknown command `" + prefix + name + "`",
                   (nearest.empty() ? "" : "did you mean `drift " + prefix + nearest + "`?\n  = ") +
                       "commands: " + joined(known) + "    (drift --help)");
}

int dispatch(std::vector<std::string> arguments) {
  if (arguments.empty() || is_help(arguments[0])) {
    std::cout << help();
    return arguments.empty() ? kMistaken : 0;
  }
  if (arguments[0] == "--version") arguments[0] = "version";
  std::string name = arguments[0];
  arguments.erase(arguments.begin());
  if (const std::vector<std::string> words = second_words(name); !words.empty()) {
    const Command* alone = find_command(name);  // "eval" is a command, and "eval diff" another
    if (!arguments.empty() && is_help(arguments[0])) {
      if (alone != nullptr) std::cout << help(*alone) << "\n";
      for (const std::string& word : words)
        std::cout << (word == words[0] ? "" : "\n") << help(*find_command(name + " " + word));
      return 0;
    }
    const bool second = !arguments.empty() && find_command(name + " " + arguments[0]) != nullptr;
    if (arguments.empty() && alone == nullptr)
      throw UsageError("`drift " + name + "` wants one of: " + joined(words), "drift " + name + " --help");
    if (!second && alone == nullptr) unknown_command(name + " ", arguments[0], words);
    if (second) {
      name += " " + arguments[0];
      arguments.erase(arguments.begin());
    }
  }
  const Command* command = find_command(name);
  if (command == nullptr) {
    std::vector<std::string> known;
    for (const Command& each : commands()) {
      const std::string first = each.name.substr(0, each.name.find(' '));
      if (std::ranges::find(known, first) == known.end()) known.push_back(first);
    }
    unknown_command("", name, known);
  }
  if (std::ranges::any_of(arguments, [](const std::string& a) { return a == "--help" || a == "-h"; })) {
    std::cout << help(*command);
    return 0;
  }
  return command->run(parse_arguments(*command, arguments));
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
  watch_plugins();
  try {
    const int status = dispatch({argv + 1, argv + argc});
    if (!std::cout.flush())
      throw Error("standard output cannot be written", "the disk may be full, or the reader gone");
    return status;
  } catch (const ConfigError& error) {
    std::cerr << error.text(colour);
    return kMistaken;
  } catch (const UsageError& error) {
    print_error(error.what(), error.hint(), colour);
    return kMistaken;
  } catch (const std::exception&) {
    const Error error = describe_exception();
    print_error(error.what(), error.hint(), colour);
  }
  return kFailed;
}
