#include "streams.h"

#include "report.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <utility>

namespace drift::standin {
namespace {

/// Of a stream: work, or a point of another stream that must be reached first.
struct Task {
  std::function<void()> work;
  int awaited = -1;
  std::uint64_t queued = 0;
};

struct Stream {
  std::deque<Task> tasks;
  std::uint64_t done = 0, queued = 0;
};

Stream streams[kStreams];
Clock clocks[kStreams + 1];
thread_local int current = 0;

void join(Clock& clock, const Clock& other) {
  std::ranges::transform(clock, other, clock.begin(), [](auto a, auto b) { return std::max(a, b); });
}

void finish_until(int stream, std::uint64_t queued) {
  Stream& its = streams[stream];
  while (its.done < queued && !its.tasks.empty()) {
    const Task task = std::move(its.tasks.front());
    its.tasks.pop_front();
    ++its.done;
    if (task.awaited >= 0) finish_until(task.awaited, task.queued);
    if (task.work) task.work();
  }
}

void push(int stream, Task task) {
  streams[stream].tasks.push_back(std::move(task));
  ++streams[stream].queued;
}

}  // namespace

std::recursive_mutex& one_at_a_time() {
  static auto* const mutex = new std::recursive_mutex;  // threads may outlive static objects
  return *mutex;
}

int current_stream() { return current; }
int set_current_stream(int stream) { return std::exchange(current, stream); }

void begin(int stream) {
  finish(stream);
  begin_late(stream);
}

void begin_late(int stream) {
  join(clocks[stream], clocks[kHost]);
  ++clocks[stream][stream];
}

void queue(int stream, std::function<void()> work) { push(stream, {std::move(work)}); }

std::uint64_t time_of(int stream) { return clocks[stream][stream]; }
bool is_behind(int stream, int other, std::uint64_t time) { return stream == other || clocks[stream][other] >= time; }
void finish(int stream) { finish_until(stream, streams[stream].queued); }

void record(Event& event, int stream) {
  ++clocks[stream][stream];
  event = {stream, streams[stream].queued, clocks[stream]};
}

void wait_in_stream(const Event& event, int stream) {
  // For the tests: without its waits, a program that needs them must end with a failure.
  static const bool is_dropped = std::getenv("DRIFT_STANDIN_DROP_WAITS") != nullptr;
  if (event.stream < 0 || event.stream == stream || is_dropped) return;
  join(clocks[stream], event.clock);
  push(stream, {{}, event.stream, event.queued});
}

void wait_on_host(const Event& event) {
  if (event.stream < 0) return;
  finish_until(event.stream, event.queued);
  join(clocks[kHost], event.clock);
  report("wait", "event");
}

void wait_on_host(int stream, const std::string& operation) {
  finish(stream);
  join(clocks[kHost], clocks[stream]);
  report("wait", operation);
}

}  // namespace drift::standin
