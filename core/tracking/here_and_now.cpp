#include <core/tracking/here_and_now.h>

#include <unistd.h>

#include <array>
#include <chrono>

namespace drift {

std::string host_name() {
  std::array<char, 256> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "localhost";
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace drift
