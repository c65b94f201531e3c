#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Throw an Error for a failed call on a file: "cannot ACTION PATH: reason", the free space if the disk is full, and
/// what to do.
/// @param error_number  the call's errno
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// "NAME is a link to TARGET, which is not there"; empty where that is not so. Copies of a hub's cache have such links.
std::string lost_link(const std::filesystem::path& path);
inline constexpr const char* kLostLinkAdvice =
    "fetch it again, or copy what the links lead to (cp -rL); a container sees only folders that are mounted";

/// Whether there is such a file or folder. @throws Error for a link that leads nowhere
bool is_there(const std::filesystem::path& path);

/// What a folder holds, in the order of the names. @throws Error if it cannot be read
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// With the folders above it, unless it is there. @throws Error
void create_folder(const std::filesystem::path& path);

/// For a path that is there and is no regular file, links followed: opening a FIFO would wait, a device has no end.
/// Standard input and descriptors by name (/dev/stdin, /dev/fd/N) may be anything.
/// @throws Error
void require_regular_file(const std::filesystem::path& path);

}  // namespace drift
