#pragma once

#include <string>

namespace code_reward {

// The Python files of this folder, each preceded by wire.py (programs.cpp is made from them when Drift is built).
extern const std::string kWorkerProgram;
extern const std::string kJudgeProgram;
extern const std::string kWholeProgram;

}  // namespace code_reward
