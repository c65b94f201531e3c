#include <core/base/stop_signal.h>

#include <unistd.h>
#include <csignal>
#include <cstring>
#include <initializer_list>

namespace drift {
namespace {

volatile std::sig_atomic_t g_received = 0;
const char* g_step = "step";
struct sigaction g_previous_interrupt, g_previous_terminate;

// Only what is safe in a signal handler.
void on_signal(int signal) {
  if (g_received != 0) _exit(128 + signal);
  g_received = signal;
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
  sigaction(SIGINT, &action, &g_previous_interrupt);
  sigaction(SIGTERM, &action, &g_previous_terminate);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &g_previous_interrupt, nullptr);
  sigaction(SIGTERM, &g_previous_terminate, nullptr);
}

int StopSignal::received() { return static_cast<int>(g_received); }

}  // namespace drift
