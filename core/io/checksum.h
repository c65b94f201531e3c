#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace drift {

/// XXH3 (64 bits) as 16 hexadecimal digits: finds damage and mix-ups, not forgery.
std::string checksum(std::string_view bytes);

/// The same of a file's content, read piece by piece.
std::string file_checksum(const std::filesystem::path& path);

/// SHA-256 (FIPS 180-4) of a file, as sha256sum prints it. @throws Error if the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace drift
