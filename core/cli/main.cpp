#include <core/base/tensor_memory.h>
#include <core/boundary/last_word.h>
#include <core/cli/command.h>
#include <core/cli/failure.h>
#include <core/ranks/launch.h>

#include <drift/export.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <thread>

DRIFT_API int main(int argc, char** argv) {
  using namespace drift;
  constexpr std::chrono::seconds kLaunchersTime(3);
  // A file-size limit is then a failed write, which is reported, and not a signal that ends the program.
  std::signal(SIGXFSZ, SIG_IGN);
  watch_plugins();
  keep_memory_of_large_tensors();
  try {
    const int status = run_command_line({argv + 1, argv + argc});
    if (!std::cout.flush())
      throw Error("standard output cannot be written", "the disk may be full, or the reader gone");
    return status;
  } catch (const std::exception&) {
    // Ranks that have not found each other were most likely given the same mistake. The first one says it and ends,
    // whereupon the launcher ends the others.
    if (launched_rank() > 0) std::this_thread::sleep_for(kLaunchersTime);
    return report_failure();
  }
}
