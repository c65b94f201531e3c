#pragma once

// What is said of a plugin that ends the process.

#include <filesystem>

namespace drift {

/// From now on:
/// - a fatal signal (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) leaves a line on standard error and in the log that
///   names the plugin, component, call and step at work; then it does what it would have done;
/// - exit() within a call of a plugin is an error with that name, and status 1.
/// Once per process, by the program.
void watch_plugins();

/// Again after each plugin is loaded: the last handler that was registered is the first that exit() calls.
void watch_exit();

/// Also written to this log. Empty: to none.
void set_last_word_log(const std::filesystem::path& log);

}  // namespace drift
