#include <core/base/here_and_now.h>

#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>

namespace drift {

std::string host_name() {
  std::array<char, 256> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "localhost";
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string time_text(const char* format, std::int64_t seconds_since_1970, bool utc) {
  const auto time = static_cast<std::time_t>(seconds_since_1970);
  std::tm parts{};
  if ((utc ? ::gmtime_r(&time, &parts) : ::localtime_r(&time, &parts)) == nullptr) return {};
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace drift
