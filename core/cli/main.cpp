#include <core/base/quote.h>
#include <core/base/tensor_memory.h>
#include <core/boundary/last_word.h>
#include <core/boundary/plugin_call.h>
#include <core/cli/command.h>
#include <core/config/diagnostic.h>
#include <core/ranks/launch.h>
#include <core/report/terminal.h>

#include <drift/export.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <thread>

namespace drift {
namespace {

bool has_colour() {
  const TerminalOptions terminal = detect_terminal(2);
  return terminal.is_terminal && terminal.color;
}

void print_error(const std::string& what, const std::string& hint) {
  std::cerr << (has_colour() ? "\033[1;31merror\033[0m: " : "error: ") << printable(without_long_lines(what)) << "\n";
  if (!hint.empty()) std::cerr << "  = " << printable(without_long_lines(hint)) << "\n";
}

void print_failure(const Error& error) {
  if (const auto* mistakes = dynamic_cast<const ConfigError*>(&error)) {
    std::cerr << mistakes->text(has_colour());
  } else {
    print_error(error.what(), error.hint());
  }
}

void tell_first(Ranks& ranks, const Error& error) {
  const auto* const mistakes = dynamic_cast<const ConfigError*>(&error);
  std::string what = mistakes != nullptr ? mistakes->text(false) : error.what();
  if (what.starts_with("error: ")) what.erase(0, 7);  // the first rank puts its own before it
  ranks.tell_first(what, error.hint());
  print_error(ranks.name(ranks.rank()) + ": " + error.what(), error.hint());
}

/// report(error) of what is being handled. @return the exit status
int reported(const std::function<void(const Error&)>& report) {
  try {
    throw;
  } catch (const ConfigError& error) {
    report(error);
    return kMistaken;
  } catch (const UsageError& error) {
    report(error);
    return kMistaken;
  } catch (...) {
    report(describe_exception());
    return 1;
  }
}

}  // namespace

int ended_together(Ranks& ranks, const std::function<int()>& body) {
  if (ranks.size() == 1) return body();
  try {
    const int status = body();
    std::cout.flush();
    ranks.leave();
    return status;
  } catch (const std::exception&) {
    const int status =
        reported([&](const Error& error) { ranks.is_first() ? print_failure(error) : tell_first(ranks, error); });
    std::cout.flush();
    ranks.abort(status);
    return status;
  }
}

}  // namespace drift

DRIFT_API int main(int argc, char** argv) {
  using namespace drift;
  constexpr std::chrono::seconds kLaunchersTime(3);
  // A file-size limit is then a failed write, which is reported, and not a signal that ends the program.
  std::signal(SIGXFSZ, SIG_IGN);
  watch_plugins();
  keep_memory_of_large_tensors();
  try {
    const int status = run_command_line({argv + 1, argv + argc});
    if (!std::cout.flush())
      throw Error("standard output cannot be written", "the disk may be full, or the reader gone");
    return status;
  } catch (const std::exception&) {
    // Ranks that have not found each other were most likely given the same mistake. The first one says it and ends,
    // whereupon the launcher ends the others.
    if (launched_rank() > 0) std::this_thread::sleep_for(kLaunchersTime);
    return reported(print_failure);
  }
}
