#include <core/base/descriptor.h>

#include <drift/error.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace drift {

void throw_system_error(const std::string& what, int error_number) {
  const bool files = error_number == EMFILE || error_number == ENFILE;
  const bool processes = error_number == EAGAIN || error_number == ENOMEM;
  throw Error(what + ": " + std::generic_category().message(error_number),
              files       ? "raise the limit of open files (ulimit -n)"
              : processes ? "the machine is out of memory or processes: fewer at a time may help"
                          : "");
}

Descriptor::Descriptor(int number, const std::string& what) : number_(number) {
  constexpr int kFirstOwn = 10;
  if (number < 0) throw_system_error("cannot open " + what, errno);
  if (number >= kFirstOwn) return;
  number_ = ::fcntl(number, F_DUPFD_CLOEXEC, kFirstOwn);
  const int error = errno;
  ::close(number);
  if (number_ < 0) throw_system_error("cannot open " + what, error);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("cannot open a pipe", errno);
  Pipe pipe;
  try {
    pipe.read = Descriptor(ends[0], "a pipe");
  } catch (...) {
    ::close(ends[1]);
    throw;
  }
  pipe.write = Descriptor(ends[1], "a pipe");
  return pipe;
}

void set_nonblocking(const Descriptor& descriptor) {
  const int flags = ::fcntl(descriptor.get(), F_GETFL);
  if (flags < 0 || ::fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK) != 0)
    throw_system_error("cannot set up a pipe", errno);
}

Descriptor memory_file() {
  return Descriptor(::memfd_create("drift", MFD_CLOEXEC | MFD_ALLOW_SEALING), "a file in memory");
}

Descriptor sealed_file(std::string_view contents) {
  Descriptor file = memory_file();
  while (!contents.empty()) {
    const ssize_t written = ::write(file.get(), contents.data(), contents.size());
    if (written < 0 && errno != EINTR) throw_system_error("cannot write a file in memory", errno);
    if (written > 0) contents.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    throw_system_error("cannot seal a file in memory", errno);
  return file;
}

std::string contents_of(const Descriptor& file) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::pread(file.get(), buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

}  // namespace drift
