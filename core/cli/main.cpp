#include <core/base/tensor_memory.h>
#include <core/boundary/last_word.h>
#include <core/boundary/plugin_call.h>
#include <core/cli/command.h>
#include <core/cli/printing.h>
#include <core/config/diagnostic.h>
#include <core/ranks/launch.h>
#include <core/ranks/ranks.h>

#include <drift/export.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <thread>

namespace drift {
namespace {

constexpr std::chrono::seconds kLaunchersTime(3);

void print_error(const std::string& what, const std::string& hint, bool colour) {
  std::cerr << (colour ? "\033[1;31merror\033[0m: " : "error: ") << printable(without_long_lines(what)) << "\n";
  if (!hint.empty()) std::cerr << "  = " << printable(without_long_lines(hint)) << "\n";
}

/// The end of the program by an error. Of several ranks the first one reports it, and all end; another rank tells the
/// first one, and prints only if that does not end the run.
int failed(int status, const Error& error, bool colour) {
  Ranks& ranks = run_ranks();
  // Ranks that have not found each other yet were most likely given the same mistake. The first one says it and ends,
  // whereupon the launcher ends the others.
  if (ranks.size() == 1 && launched_rank() > 0) std::this_thread::sleep_for(kLaunchersTime);
  const auto* const mistakes = dynamic_cast<const ConfigError*>(&error);
  if (!ranks.is_first()) {
    std::string what = mistakes != nullptr ? mistakes->text(false) : error.what();
    if (what.starts_with("error: ")) what.erase(0, 7);  // the first rank puts its own before it
    ranks.tell_first(what, error.hint());
    print_error(ranks.name(ranks.rank()) + ": " + error.what(), error.hint(), colour);
  } else if (mistakes != nullptr) {
    std::cerr << mistakes->text(colour);
  } else {
    print_error(error.what(), error.hint(), colour);
  }
  if (ranks.size() > 1) {
    std::cout.flush();
    ranks.abort(status);
  }
  return status;
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
  keep_memory_of_large_tensors();
  try {
    const int status = run_command_line({argv + 1, argv + argc});
    if (!std::cout.flush())
      throw Error("standard output cannot be written", "the disk may be full, or the reader gone");
    return status;
  } catch (const ConfigError& error) {
    return failed(kMistaken, error, colour);
  } catch (const UsageError& error) {
    return failed(kMistaken, error, colour);
  } catch (const std::exception&) {
    return failed(1, describe_exception(), colour);
  }
}
