#include <core/lab/conformance/watches.h>

#include <drift/error.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>

#include <dlfcn.h>
#include <malloc.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <vector>

namespace drift {
namespace {

constexpr int kParts = 4;
constexpr std::int64_t kLeastGrowth = 4096;  // bytes in a part: below, it is noise
constexpr int kCalls = 1000, kFirstCalls = 100;
constexpr double kMostSeconds = 30;
constexpr double kLeastLeak = 16;  // bytes a call: the smallest block of the allocator

at::Tensor generator_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return generator.get_state().clone();
}

/// Bytes in use on the heap: of the sanitizer's, where there is one.
std::int64_t heap_bytes() {
  using InUse = std::size_t();
  static auto* const sanitized =
      reinterpret_cast<InUse*>(::dlsym(RTLD_DEFAULT, "__sanitizer_get_current_allocated_bytes"));
  if (sanitized != nullptr) return static_cast<std::int64_t>(sanitized());
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

std::int64_t entries(const char* folder) {
  std::error_code ignored;
  return std::distance(std::filesystem::directory_iterator(folder, ignored), {});
}

struct Held {
  std::int64_t bytes = heap_bytes();
  std::int64_t files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
};

}  // namespace

void without_global_random(const std::function<void()>& body) {
  const at::Tensor before = generator_state();
  std::srand(7);
  const int next = std::rand();
  std::srand(7);
  body();
  if (std::rand() != next)
    throw Error("it draws from rand(), which all share", "draw from the RandomStream that it is given");
  if (!same_bits(before, generator_state()))
    throw Error("it draws from LibTorch's global generator", "draw from the RandomStream that it is given");
}

std::string without_leak(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto repeat = [&](int most, double until) {
    int made = 0;
    for (; made < most && (made == 0 || seconds() < until); ++made) call();
    return made;
  };
  repeat(kFirstCalls, kMostSeconds / 10);  // what is set up once
  std::vector<Held> held(1);
  std::vector<int> calls;
  const double begun = seconds();
  for (int part = 1; part <= kParts; ++part) {
    calls.push_back(repeat(kCalls / kParts, begun + (kMostSeconds - begun) * part / kParts));
    held.emplace_back();
  }
  const int made = std::accumulate(calls.begin(), calls.end(), 0);
  const double each = (seconds() - begun) / made;

  // A leak grows in every part; what allocators and libraries keep for themselves comes in steps.
  const auto grew = [&](std::int64_t Held::*what, double least_a_call, std::int64_t least) {
    for (std::size_t part = 0; part < calls.size(); ++part) {
      const std::int64_t growth = held[part + 1].*what - held[part].*what;
      if (growth < least || static_cast<double>(growth) < least_a_call * calls[part]) return false;
    }
    return true;
  };
  char text[128];
  if (grew(&Held::bytes, kLeastLeak, kLeastGrowth)) {
    std::snprintf(text, sizeof text, "its memory grows by %.0f bytes a call",
                  static_cast<double>(held.back().bytes - held.front().bytes) / made);
    throw Error(text, "free what a call allocates, and bound what is kept between calls");
  }
  if (grew(&Held::files, 0.1, 1)) throw Error("it leaves files open: more with every call");
  if (grew(&Held::threads, 0.1, 1)) throw Error("it leaves threads running: more with every call");
  return std::to_string(made) + " calls, " + duration_text(each) + " each";
}

std::string duration_text(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.0f us", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.1f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  }
  return text;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor left = a.detach().contiguous(), right = b.detach().contiguous();
  return std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0) return 0;
  const at::Tensor left = a.detach().to(at::kDouble), right = b.detach().to(at::kDouble);
  const double scale = std::max(1.0, right.abs().max().item<double>());
  return (left - right).abs().max().item<double>() / scale;
}

}  // namespace drift
