#include <core/cli/command.h>
#include <core/config/diagnostic.h>
#include <core/report/terminal.h>

#include <drift/export.h>

#include <c10/util/Exception.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <new>

namespace drift {
namespace {

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
    const int status = run_command_line({argv + 1, argv + argc});
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
  return 1;
}
