#pragma once

#include <core/base/descriptor.h>

#include <filesystem>
#include <optional>
#include <string>

namespace drift {

/// A folder, or one thing in it, at which one process at a time works, during this object's lifetime. The kernel
/// releases the lock when the process ends, however it does.
///
/// It is a lock of the file's bytes that belongs to the open file (F_OFD_SETLK), not to the process: closing another
/// descriptor of the file does not drop it. Linux sends such locks to an NFS server, so that machines that share the
/// folder see each other's; the server drops those of a machine that is gone, or only cut off, when its lease ends (90
/// s by default). On Lustre and BeeGFS it depends on how they are mounted. Where locks do not work at all, that is an
/// error.
class FolderLock {
 public:
  /// Creates the folder if it is missing. The file of the lock stays.
  /// @param who   who else may be working there, for messages: "another sweep"
  /// @param name  of the file in the folder
  /// @throws Error naming the process and its host if it is taken; if it cannot be written or locked.
  FolderLock(const std::filesystem::path& folder, const std::string& who, const std::string& name = ".lock");

  /// Whether no other process has taken the lock since. One may have if this machine was cut off from a file server,
  /// which then gave the lock away.
  bool is_held() const;
  /// Before a write into the folder. @throws Error if another process has taken the lock since.
  void require_held() const;

  /// Who holds it, "process 12 on node7"; nothing if nobody does. Takes nothing, so it is in nobody's way.
  static std::optional<std::string> holder(const std::filesystem::path& folder, const std::string& name = ".lock");
  /// Whether the last process that held it was one of this machine, so that holder() is right whatever the file system.
  static bool was_of_this_host(const std::filesystem::path& folder, const std::string& name = ".lock");
  /// @throws Error as the constructor does if somebody holds it. Another process may still come first.
  static void require_free(const std::filesystem::path& folder, const std::string& who,
                           const std::string& name = ".lock");

 private:
  std::filesystem::path file_;
  std::string owner_;  ///< what the constructor wrote into it
  Descriptor descriptor_;
};

}  // namespace drift
