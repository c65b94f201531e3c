#include <core/io/folder_lock.h>

#include <core/io/file_error.h>

#include <drift/error.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace drift {

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& who) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw_file_error("create folder", folder, failed.value());
  const std::filesystem::path file = folder / ".lock";
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw_file_error("write", file, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(descriptor_);
  throw Error(who + " is working in " + folder.string(), "wait for it or stop it, or choose another folder with --out");
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace drift
