#include <core/train/stop_signal.h>

#include <unistd.h>
#include <csignal>
#include <cstring>

namespace drift {
namespace {

volatile std::sig_atomic_t g_received = 0;
struct sigaction g_previous_interrupt, g_previous_terminate;

// Only what is safe in a signal handler.
void on_signal(int signal) {
  if (g_received != 0) _exit(128 + signal);
  g_received = signal;
  constexpr char kText[] = "\nstopping after this step, then saving; once more to leave at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
}

}  // namespace

StopSignal::StopSignal() {
  g_received = 0;
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &g_previous_interrupt);
  sigaction(SIGTERM, &action, &g_previous_terminate);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &g_previous_interrupt, nullptr);
  sigaction(SIGTERM, &g_previous_terminate, nullptr);
}

int StopSignal::received() { return static_cast<int>(g_received); }

}  // namespace drift
