#include <core/boundary/last_word.h>

#include <core/base/log.h>
#include <core/base/stop_signal.h>
#include <core/boundary/plugin_call.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

namespace drift {
namespace {

struct FatalSignal {
  int number;
  const char* name;
};
constexpr std::array<FatalSignal, 5> kFatal{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}}};

constexpr std::uintptr_t kNullArray = 1 << 20;  // addresses in an array that begins at NULL

std::array<struct sigaction, kFatal.size()> g_previous;
std::atomic<int> g_log{-1};
pid_t g_process = 0;  // a child that has not become another program yet says nothing

/// Text in a buffer of its own: all that a signal handler may use.
class Line {
 public:
  void add(const char* text) {
    while (*text != '\0' && size_ < sizeof text_) text_[size_++] = *text++;
  }
  void add(std::int64_t number) {
    char digits[24];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    while (count > 0 && size_ < sizeof text_) text_[size_++] = digits[--count];
  }
  void add(const CallAtWork& call) {
    if (call.step == 0) add("evaluation before the first step: ");
    if (call.step > 0) {
      add("step ");
      add(call.step);
      add(": ");
    }
    add(call.callee->text.c_str());
    add(", ");
    add(call.method);
  }
  void write_to(int file) const {
    if (file < 0) return;
    [[maybe_unused]] const auto written = ::write(file, text_, size_);
  }
  std::string text() const { return {text_, size_}; }

 private:
  char text_[1024];
  std::size_t size_ = 0;
};

std::string named(const CallAtWork& call) {
  Line line;
  line.add(call);
  return line.text();
}

/// Of this thread or, where a thread of the plugin's own failed, of any other.
CallAtWork likely_call() {
  CallAtWork call = own_call();
  for (int thread = 0; call.callee == nullptr && thread < kMostThreads; ++thread) call = call_of_thread(thread);
  return call;
}

// Only what is safe in a signal handler.
void on_fatal_signal(int number, siginfo_t* info, void*) {
  std::size_t which = 0;
  while (which + 1 < kFatal.size() && kFatal[which].number != number) ++which;
  const CallAtWork call = getpid() == g_process ? likely_call() : CallAtWork{};
  if (call.callee != nullptr) {
    Line line;
    line.add("\nerror: ");
    line.add(call);
    line.add(": it ended the program by ");
    line.add(kFatal[which].name);
    const bool is_fault = number == SIGSEGV && info != nullptr && info->si_code > 0;
    if (is_fault && reinterpret_cast<std::uintptr_t>(info->si_addr) < kNullArray &&
        std::strcmp(call.method, "evaluate") == 0)
      line.add(
          " at a null pointer: a loss in C has `old_FL`, `reference_FL` and `entropy_FL` only if its needs() asks");
    line.add("\n  = this is for the plugin's author to mend; what the run had saved is whole\n");
    line.write_to(STDERR_FILENO);
    line.write_to(g_log);
  }
  sigaction(number, &g_previous[which], nullptr);
  // A fault happens again when the handler returns; a signal that somebody sent does not.
  if (info == nullptr || info->si_code <= 0) raise(number);
}

void on_exit() {
  const CallAtWork call = getpid() == g_process ? likely_call() : CallAtWork{};
  if (call.callee == nullptr) return;
  // The log's own object may be gone by now.
  Line line;
  line.add("\nerror: ");
  line.add(call);
  line.add(
      ": it called exit(), which would have ended the run as if all were well\n  = throw a drift::Error instead\n");
  std::fflush(nullptr);
  line.write_to(STDERR_FILENO);
  line.write_to(g_log);
  _exit(1);
}

constexpr double kBetweenLooks = 1;  // seconds, at most
constexpr double kPatience = 5;      // seconds after which a call is named that keeps a run from stopping

/// Looks at all calls now and then.
class Watchdog {
 public:
  Watchdog() {
    std::thread([this] { run(); }).detach();
  }

  void set_timeout(double seconds) { timeout_ = seconds > 0 ? seconds : std::numeric_limits<double>::infinity(); }

 private:
  void run() {
    for (bool stops = false;;) {
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min<double>(timeout_ / 4, kBetweenLooks)));
      if (stops != (StopSignal::received() != 0)) said_ = {};
      stops = StopSignal::received() != 0;
      look(stops ? std::min<double>(timeout_, kPatience) : timeout_.load(),
           stops ? "the run stops when it does; once more to exit immediately"
                 : "the run waits for it    (run.call_timeout sets after which time this is said)");
    }
  }

  void look(double timeout, const char* what_follows) {
    for (int thread = 0; thread < kMostThreads; ++thread) {
      const CallAtWork call = call_of_thread(thread);
      std::uint64_t& said = said_[static_cast<std::size_t>(thread)];
      if (call.callee == nullptr || said == call.number || static_cast<double>(call.idle_nanoseconds) < timeout * 1e9)
        continue;
      if (call_of_thread(thread).number != call.number) continue;  // it went on meanwhile
      said = call.number;
      log_warning(named(call) + " has not returned for " + std::to_string(call.idle_nanoseconds / 1'000'000'000) +
                  " s; " + what_follows);
    }
  }

  std::atomic<double> timeout_ = 3600;
  std::array<std::uint64_t, kMostThreads> said_{};
};

std::atomic<Watchdog*> g_watchdog{nullptr};

}  // namespace

void watch_plugins() {
  g_process = getpid();
  // A first call takes this thread's place in the record, and a stack for its signals.
  { const PluginCall first(callee("the program"), "start"); }
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i].number, &action, &g_previous[i]);
  watch_exit();
  g_watchdog = new Watchdog;  // its thread may be at work until the process ends
}

void watch_exit() { std::atexit(on_exit); }

void set_last_word_log(const std::filesystem::path& log) {
  const int file = log.empty() ? -1 : ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const int before = g_log.exchange(file);
  if (before >= 0) ::close(before);
}

void set_call_timeout(double seconds) {
  if (Watchdog* watchdog = g_watchdog) watchdog->set_timeout(seconds);
}

}  // namespace drift
