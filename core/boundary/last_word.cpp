#include <core/boundary/last_word.h>

#include <core/boundary/plugin_call.h>

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace drift {
namespace {

struct FatalSignal {
  int number;
  const char* name;
};
constexpr std::array<FatalSignal, 5> kFatal{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}}};

constexpr std::uintptr_t kNullArray = 1 << 20;  // addresses in an array that begins at NULL

// Of this thread, whose own stack may have overflowed.
alignas(16) char g_signal_stack[32 << 10];

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

 private:
  char text_[1024];
  std::size_t size_ = 0;
};

// Only what is safe in a signal handler.
void on_fatal_signal(int number, siginfo_t* info, void*) {
  std::size_t which = 0;
  while (which + 1 < kFatal.size() && kFatal[which].number != number) ++which;
  const CallAtWork call = getpid() == g_process ? call_at_work() : CallAtWork{};
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
  const CallAtWork call = getpid() == g_process ? call_at_work() : CallAtWork{};
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

}  // namespace

void watch_plugins() {
  g_process = getpid();
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0) {  // a sanitizer may have set one
    stack = {g_signal_stack, 0, sizeof g_signal_stack};
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i].number, &action, &g_previous[i]);
  watch_exit();
}

void watch_exit() { std::atexit(on_exit); }

void set_last_word_log(const std::filesystem::path& log) {
  const int file = log.empty() ? -1 : ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const int before = g_log.exchange(file);
  if (before >= 0) ::close(before);
}

}  // namespace drift
