#pragma once

#include <filesystem>
#include <string>

namespace drift {

/// A folder that one process at a time works in, for as long as this lives. The kernel lets go of the lock when the
/// process ends, however it does.
class FolderLock {
 public:
  /// Creates the folder if it is missing.
  /// @param who  who else may be at work there, for messages: "another sweep"
  /// @throws Error if the folder is taken or cannot be written.
  FolderLock(const std::filesystem::path& folder, const std::string& who);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace drift
