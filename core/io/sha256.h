#pragma once

#include <filesystem>
#include <string>

namespace drift {

/// SHA-256 (FIPS 180-4) of a file, as sha256sum prints it.
/// @throws Error if the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace drift
