#pragma once

#include <ATen/ops/rand.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace drift::test {

/// What a component does wrong, whatever its kind.
class Breaker {
 public:
  explicit Breaker(std::string what) : what_(std::move(what)) {}
  bool is(const char* what) const { return what_ == what; }
  /// In every call: changes that a call cannot see.
  void misbehave() const {
    if (is("leaks memory")) kept().push_back(std::make_unique<char[]>(100));
    if (is("leaks files")) [[maybe_unused]]
      const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (is("draws from rand")) std::rand();
    if (is("draws from LibTorch")) at::rand({2});
  }
  /// 0, 1, …, for what keeps count where it should not.
  std::int64_t count() const { return is("counts its calls") ? calls_++ : 0; }
  /// `value`, or another thread's.
  std::int64_t shared(std::int64_t value) const {
    if (!is("shares its scratch")) return value;
    const_cast<volatile std::int64_t&>(scratch_) = value;
    ::usleep(200);
    return const_cast<volatile std::int64_t&>(scratch_);
  }

 private:
  static std::vector<std::unique_ptr<char[]>>& kept() {
    static std::vector<std::unique_ptr<char[]>> all;
    return all;
  }
  std::string what_;
  mutable std::int64_t calls_ = 0, scratch_ = 0;
};

}  // namespace drift::test
