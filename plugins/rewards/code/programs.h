#pragma once

#include <string>

namespace drift::code {

// The Python files of this folder, each preceded by wire.py and environment.py (programs.cpp is made from them when
// Drift is built).
extern const std::string kWorkerProgram;
extern const std::string kJudgeProgram;
extern const std::string kWholeProgram;

}  // namespace drift::code
