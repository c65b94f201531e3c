#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace drift {

/// Throw an Error for a failed call on a file: "cannot ACTION PATH: reason", the free space if the disk is full, and
/// what to do.
/// @param error_number  the call's errno
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// A name that came out of a file, fit for a message: in backquotes, control characters escaped, very long names cut.
std::string quoted_name(std::string_view name);

}  // namespace drift
