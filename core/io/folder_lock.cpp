#include <core/io/folder_lock.h>

#include <core/base/here_and_now.h>
#include <core/io/atomic.h>
#include <core/io/file_error.h>

#include <drift/error.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;

/// All bytes, whatever the file's length; l_pid must be 0 for locks of an open file.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

constexpr std::size_t kLongestOwner = 4096;
constexpr const char* kUnnamedHolder = "a process that has not said which";

/// An NFS client may show what an earlier owner wrote, as long as it keeps the page.
void forget_cached(const fs::path& file) {
  const int opened = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe would wait
  if (opened < 0) return;
  const Descriptor descriptor(opened, file.string());
  ::posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_DONTNEED);
}

std::string owner_of(const fs::path& file) {
  forget_cached(file);
  std::string owner;
  try {
    owner = read_whole_file(file, kLongestOwner);
  } catch (const Error&) {  // gone, or not readable: who it is remains unknown
  }
  return owner.empty() ? kUnnamedHolder : owner;
}

std::string this_process() { return "process " + std::to_string(::getpid()) + " on " + host_name(); }

[[noreturn]] void throw_in_use(const fs::path& folder, const std::string& who, const std::string& owner) {
  throw Error(folder.string() + " is in use by " + who + ": " + owner,
              "wait for it or stop it, or choose another folder with --out");
}

[[noreturn]] void throw_lock_error(const fs::path& file, int error_number) {
  const bool unsupported = error_number == ENOLCK || error_number == ENOSYS || error_number == EOPNOTSUPP;
  if (!unsupported) throw_file_error("lock", file, error_number);
  throw Error("cannot lock " + file.string() + ": " + std::generic_category().message(error_number),
              "this file system is mounted without locks (NFS 3 needs rpc.statd, Lustre the mount option flock): ask "
              "who runs it, or choose a folder elsewhere with --out");
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder, const std::string& who, const std::string& name)
    : file_(folder / name), owner_(this_process()) {
  create_folder(folder);
  const int opened = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (opened < 0) throw_file_error("write", file_, errno);
  Descriptor descriptor(opened, file_.string());
  struct flock lock = whole_file();
  if (::fcntl(descriptor.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) throw_lock_error(file_, errno);
    throw_in_use(folder, who, owner_of(file_));
  }
  // Failing to write it is not a reason to stop. Other machines read it from the disk.
  if (::ftruncate(descriptor.get(), 0) == 0 && ::pwrite(descriptor.get(), owner_.data(), owner_.size(), 0) > 0)
    ::fdatasync(descriptor.get());
  descriptor_ = std::move(descriptor);
}

bool FolderLock::is_held() const {
  const std::string owner = owner_of(file_);
  return owner == owner_ || owner == kUnnamedHolder;
}

void FolderLock::require_held() const {
  if (is_held()) return;
  throw Error("the lock of " + file_.parent_path().string() + " went to " + owner_of(file_),
              "this machine was cut off from the file server for so long that the server gave the lock away; nothing "
              "was written since: leave the folder to that process");
}

std::optional<std::string> FolderLock::holder(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / name;
  const int opened = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe would wait
  if (opened < 0) return std::nullopt;
  const Descriptor descriptor(opened, file.string());
  struct flock lock = whole_file();
  if (::fcntl(descriptor.get(), F_OFD_GETLK, &lock) != 0) throw_lock_error(file, errno);
  if (lock.l_type == F_UNLCK) return std::nullopt;
  return owner_of(file);
}

bool FolderLock::was_of_this_host(const fs::path& folder, const std::string& name) {
  return owner_of(folder / name).ends_with(" on " + host_name());
}

void FolderLock::require_free(const fs::path& folder, const std::string& who, const std::string& name) {
  if (const auto owner = holder(folder, name)) throw_in_use(folder, who, *owner);
}

}  // namespace drift
