// The start of every program of this tree: the one place that says how the process works with its machine. Threads of
// OpenMP read their settings while the library is loaded, before main(). So a program is a shared library, and this
// small executable, which needs nothing of LibTorch, makes the settings and then loads it (drift_add_program in
// cmake/DriftProgram.cmake). Settings already in the environment are kept.

#include <dlfcn.h>
#include <malloc.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace {

void set_default(const char* variable, const char* value) { ::setenv(variable, value, /*overwrite=*/0); }

/// A thread that waits for others sleeps. By default it first asks 300,000 times whether they are ready, and on a busy
/// machine keeps the processor that they need.
void choose_waiting() {
  if (std::getenv("GOMP_SPINCOUNT") == nullptr) set_default("OMP_WAIT_POLICY", "passive");
}

/// Tensors of a training step are freed and allocated again by the thousand. Memory that goes back to the system each
/// time comes back as page faults, which took a sixth of a small model's step.
void choose_allocation() {
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  if (tunables != nullptr && std::strstr(tunables, "glibc.malloc.") != nullptr) return;
  // No allocation is a separate mapping, and the heap's free end stays.
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

/// bfloat16 products go through oneDNN, which compiles and keeps one for every shape; a rollout has a new shape at
/// every step. Its default of 1024, cached by every thread, took 0.8 GiB for a model of one GiB.
void choose_caches() {
  set_default("LRU_CACHE_CAPACITY", "16");
  set_default("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512");
}

/// OpenMP, where OMP_PROC_BIND asks for it, ties the first thread to one processor while it is loaded. How many it may
/// run on must be asked before (core/base/thread_limits.h).
void count_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  ::setenv("DRIFT_PROCESSORS", std::to_string(CPU_COUNT(&allowed)).c_str(), /*overwrite=*/1);
}

/// A process that was to end with its parent (ChildCommand::ends_with_parent) finds the parent's number here.
void end_with_parent() {
  const char* parent = std::getenv("DRIFT_PARENT");
  if (parent == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (std::to_string(::getppid()) != parent) std::raise(SIGTERM);  // it has ended already
  ::unsetenv("DRIFT_PARENT");
}

void on_interrupt(int signal) {
  constexpr char kLine[] = "\ninterrupted\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kLine, sizeof kLine - 1);
  ::_exit(128 + signal);
}

/// Ctrl-C is a line and status 130 from here on, but where the work is finished first (core/base/stop_signal.h). An
/// ignored one stays ignored.
void end_at_interrupts() {
  if (std::signal(SIGINT, on_interrupt) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

/// The program's file, next to this executable wherever that is installed. dlopen() would look there itself, but not
/// with a sanitizer in between.
std::string program_file() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / DRIFT_PROGRAM;
}

}  // namespace

int main(int count, char** arguments) {
  end_with_parent();
  end_at_interrupts();
  count_processors();
  choose_waiting();
  choose_allocation();
  choose_caches();
  // Global, so that plugins find the libraries loaded here as if the executable were linked with them.
  void* program = ::dlopen(program_file().c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* entry = program == nullptr ? nullptr : ::dlsym(program, "main");
  if (entry == nullptr) {
    std::fprintf(stderr, "error: the program cannot be loaded: %s\n  = build or install it again\n", ::dlerror());
    return 1;
  }
  const int status = reinterpret_cast<int (*)(int, char**)>(entry)(count, arguments);
#if !defined(__SANITIZE_ADDRESS__)
  // All is written and every component destroyed. LibTorch would take back its operators one by one, for a third of the
  // time of a short command.
  std::fflush(nullptr);
  ::_exit(status);
#endif
  return status;
}
