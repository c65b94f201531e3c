#include <core/base/quote.h>
#include <core/boundary/last_word.h>
#include <core/boundary/plugin_call.h>
#include <core/cli/command.h>
#include <core/config/diagnostic.h>
#include <core/report/terminal.h>

#include <drift/export.h>

#include <csignal>
#include <exception>
#include <iostream>

namespace drift {
namespace {

void print_error(const std::string& what, const std::string& hint, bool colour) {
  std::cerr << (colour ? "\033[1;31merror\033[0m: " : "error: ") << printable(what) << "\n";
  if (!hint.empty()) std::cerr << "  = " << printable(hint) << "\n";
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
  } catch (const std::exception&) {
    const Error error = describe_exception();
    print_error(error.what(), error.hint(), colour);
  }
  return 1;
}
