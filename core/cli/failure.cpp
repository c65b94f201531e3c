#include <core/cli/failure.h>

#include <core/base/quote.h>
#include <core/boundary/plugin_call.h>
#include <core/cli/command.h>
#include <core/config/diagnostic.h>
#include <core/report/terminal.h>

#include <exception>
#include <iostream>
#include <string>

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

void print(const Error& error) {
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

int report_failure() { return reported(print); }

int ended_together(Ranks& ranks, const std::function<int()>& body) {
  if (ranks.size() == 1) return body();
  try {
    const int status = body();
    std::cout.flush();
    ranks.leave();
    return status;
  } catch (const std::exception&) {
    const int status =
        reported([&](const Error& error) { ranks.is_first() ? print(error) : tell_first(ranks, error); });
    std::cout.flush();
    ranks.abort(status);
    return status;
  }
}

}  // namespace drift
