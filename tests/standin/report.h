#pragma once

#include <string>

namespace drift::standin {

/// The status of a program that did what would go wrong on a GPU.
inline constexpr int kFailureStatus = 77;

/// Prints what is wrong and the call stack, and ends the program: what follows would be wrong numbers.
[[noreturn]] void fail(const std::string& what);

/// Writes a line into the file that DRIFT_STANDIN_REPORT names, ended by the process's number: "wait" or "atomics", the
/// operation, and the addresses of its call stack, which `places.py` turns into names.
void report(const char* kind, const std::string& operation);

}  // namespace drift::standin
