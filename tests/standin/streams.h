#pragma once

// Streams. Work of a stream is done when it is queued, but for copies of pinned memory: they are done as late as a GPU
// may do them, when later work or the host waits for them. A clock a stream, and one of the host, says what work each
// of them is behind.

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace drift::standin {

/// The stand-in does one thing at a time.
std::recursive_mutex& one_at_a_time();
using Lock = std::lock_guard<std::recursive_mutex>;

constexpr int kStreams = 33;  ///< the default one and LibTorch's pool
constexpr int kHost = kStreams;
using Clock = std::array<std::uint64_t, kStreams + 1>;

struct Event {
  int stream = -1;
  std::uint64_t queued = 0;
  Clock clock{};
};

int current_stream();
/// @return the one before
int set_current_stream(int stream);

/// Work begins, behind all that is queued.
void begin(int stream);
/// The work is only queued. What it does with device memory counts from now on (memory.h).
void begin_late(int stream);
void queue(int stream, std::function<void()> work);

std::uint64_t time_of(int stream);
/// Whether what `stream` does next comes behind the work of `other` that began at `time`. `stream` may be kHost.
bool is_behind(int stream, int other, std::uint64_t time);
/// Does all that is queued.
void finish(int stream);

void record(Event& event, int stream);
void wait_in_stream(const Event& event, int stream);
void wait_on_host(const Event& event);
void wait_on_host(int stream, const std::string& operation);

}  // namespace drift::standin
