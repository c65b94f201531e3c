#pragma once

#include <drift/task.h>

#include <string>
#include <vector>

namespace drift::code {

/// A problem as the reward needs it, read from one of the forms that data sets have (README.md lists them).
struct Item {
  enum class Kind { kFunction, kProgram };
  Kind kind = Kind::kFunction;

  std::string prefix;                ///< stands before the response
  std::string prompt;                ///< functions: code that the response is to continue, or empty
  double time_limit = 1;             ///< processor seconds for a call or a program
  std::string setup;                 ///< functions: run before each text of tests
  std::vector<std::string> tests;    ///< functions: Python texts with asserts
  std::string entry_point;           ///< functions: the name that is tested, if the data set says so
  std::vector<std::string> inputs;   ///< programs: standard input,
  std::vector<std::string> outputs;  ///< and what is expected for it
};

/// @throws drift::Error if the reference is none of these forms.
Item read_item(const drift::TaskItem* item);

}  // namespace drift::code
