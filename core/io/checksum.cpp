#include <core/io/checksum.h>

#include <core/io/file_error.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <vector>

namespace drift {
namespace {

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, value);
  return text.data();
}

}  // namespace

std::string checksum(std::string_view bytes) { return hexadecimal(XXH3_64bits(bytes.data(), bytes.size())); }

std::string file_checksum(const std::filesystem::path& path) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_file_error("read", path, errno);
  std::vector<char> chunk(1 << 20);
  ssize_t got = 0;
  while ((got = ::read(descriptor, chunk.data(), chunk.size())) != 0) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) XXH3_64bits_update(state.get(), chunk.data(), static_cast<std::size_t>(got));
  }
  const int error_number = errno;
  ::close(descriptor);
  if (got < 0) throw_file_error("read", path, error_number);
  return hexadecimal(XXH3_64bits_digest(state.get()));
}

}  // namespace drift
