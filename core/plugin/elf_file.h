#pragma once

#include <filesystem>
#include <string>

namespace drift {

/// Read one section of a shared library, from the file alone: nothing is loaded, nothing of it runs. Every offset is
/// checked against the file, so that truncated, foreign and random files give an error and nothing else.
/// @return the section's bytes; empty if the file has no such section.
/// @throws Error if the file cannot be read or is not a complete shared library for this machine.
std::string read_section(const std::filesystem::path& file, const std::string& section);

}  // namespace drift
