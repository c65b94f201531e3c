#pragma once

#include <core/cli/command.h>

#include <string>

namespace drift {

/// "drift-plugin-info"
std::string man_page_name(const Command& command);

/// The page of a command, in the macros of man(7), from what the command declares.
/// @param date  "2026-03-01"
std::string man_page(const Command& command, const std::string& date);

/// drift(1): all commands.
std::string man_overview(const std::string& date);

}  // namespace drift
