#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace drift {

/// XXH3 (64 bits) as 16 hexadecimal digits: finds damage and mix-ups, not forgery.
std::string checksum(std::string_view bytes);

/// The same of a file's content, read piece by piece.
std::string file_checksum(const std::filesystem::path& path);

}  // namespace drift
