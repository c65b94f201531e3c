#pragma once

#include <filesystem>
#include <string_view>

namespace drift {

/// Throw an Error for a failed call on a file: "cannot ACTION PATH: reason", the free space if the disk is full, and
/// what to do.
/// @param error_number  the call's errno
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// For a path that is there and is no regular file, links followed: opening a FIFO would wait, a device has no end.
/// @throws Error
void require_regular_file(const std::filesystem::path& path);

}  // namespace drift
