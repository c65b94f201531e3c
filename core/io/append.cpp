#include <core/io/append.h>

#include <core/io/file_error.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace drift {
namespace {

// 0, or the errno of what failed.
int append(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fdatasync(descriptor) == 0 ? 0 : errno;
}

}  // namespace

void append_to_file(const std::filesystem::path& path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_file_error("write", path, errno);
  struct stat before {};
  int error_number = 0;
  if (::fstat(descriptor, &before) != 0) {
    error_number = errno;
  } else {
    error_number = append(descriptor, bytes);
    if (error_number != 0 && ::ftruncate(descriptor, before.st_size) != 0) error_number = errno;
  }
  ::close(descriptor);
  if (error_number != 0) throw_file_error("write", path, error_number);
}

}  // namespace drift
