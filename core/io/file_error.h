#pragma once

#include <filesystem>
#include <string_view>

namespace drift {

/// Throw an Error for a failed call on a file: "cannot ACTION PATH: reason", the free space if the disk is full, and
/// what to do.
/// @param error_number  the call's errno
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// With the folders above it, unless it is there. @throws Error
void create_folder(const std::filesystem::path& path);

/// For a path that is there and is no regular file, links followed: opening a FIFO would wait, a device has no end.
/// Standard input and descriptors by name (/dev/stdin, /dev/fd/N) may be anything.
/// @throws Error
void require_regular_file(const std::filesystem::path& path);

}  // namespace drift
