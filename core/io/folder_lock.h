#pragma once

#include <filesystem>
#include <string>

namespace drift {

/// A folder in which one process at a time works, during this object's lifetime. The kernel releases the lock when the
/// process ends, however it does.
class FolderLock {
 public:
  /// Creates the folder if it is missing.
  /// @param who  who else may be working there, for messages: "another sweep"
  /// @throws Error if the folder is taken or cannot be written.
  FolderLock(const std::filesystem::path& folder, const std::string& who);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace drift
