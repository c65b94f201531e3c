#pragma once

#include <filesystem>
#include <string_view>

namespace drift {

/// Append to a file, which is made if it is not there; on disk when this returns. What does not fit leaves the file as
/// it was. @throws Error if it cannot be written.
void append_to_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace drift
