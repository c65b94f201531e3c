#include <core/base/stop_signal.h>

#include <unistd.h>
#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <initializer_list>

namespace drift {
namespace {

volatile std::sig_atomic_t g_received = 0;
volatile std::time_t g_received_at = 0;
const char* g_step = "step";
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> g_previous;

// This and the next only do what is safe in a signal handler.
std::time_t monotonic_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

void on_signal(int signal) {
  // One event may send several: a terminal that closes, or a parent that ends thread by thread.
  if (g_received != 0 && signal != SIGINT && monotonic_seconds() <= g_received_at + 1) return;
  if (g_received != 0) _exit(128 + signal);
  g_received_at = monotonic_seconds();
  g_received = signal;
  if (g_step == nullptr) return;
  for (const char* text : {"\nstopping after this ", g_step, ", then saving; once more to exit immediately\n"}) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
  }
}

}  // namespace

StopSignal::StopSignal(const char* step) {
  g_received = 0;
  g_step = step;
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &g_previous[i]);
    if (kSignals[i] == SIGHUP && g_previous[i].sa_handler == SIG_IGN) sigaction(SIGHUP, &g_previous[i], nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_previous[i], nullptr);
}

int StopSignal::received() { return static_cast<int>(g_received); }

}  // namespace drift
