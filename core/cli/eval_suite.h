#pragma once

#include <core/cli/command.h>

#include <filesystem>
#include <string>

namespace drift {

/// `drift eval --suite`.
int run_eval_suite(const CommandLine& line);

/// What the user types to go on with an evaluation.
std::string command_to_go_on(const CommandLine& line, const std::filesystem::path& out);

}  // namespace drift
