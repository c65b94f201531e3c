#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drift::bench {

/// Name of the files that hostile programs try to leave.
inline constexpr const char* kLeftoverName = "drift-bench-leftover";

/// A program as a model might have written it, its tests, and the reward that it must get.
struct Program {
  std::string name;
  std::string code;
  std::vector<std::string> tests;
  double value = 0;
  bool hostile = false;
};

/// Program `index` of an endless list. Every `hostile_every`-th (0: none) is one of the attacks, in turn; of the others
/// two in three are right.
Program program_number(std::int64_t index, std::int64_t hostile_every);

}  // namespace drift::bench
