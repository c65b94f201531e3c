#include "report.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace drift::standin {
namespace {

constexpr int kDeepest = 64;

/// Null if nobody asks. The launcher ends by _exit(), after std::fflush().
std::FILE* report_file() {
  static std::FILE* const file = [] {
    const char* const path = std::getenv("DRIFT_STANDIN_REPORT");
    return path == nullptr ? nullptr : std::fopen((std::string(path) + "." + std::to_string(::getpid())).c_str(), "w");
  }();
  return file;
}

bool is_of_libraries(const std::string& file) {
  for (const char* name : {"libtorch", "libc10", "libc.so", "libstdc++", "libgomp"}) {
    if (file.find(name) != file.npos) return true;
  }
  return false;
}

}  // namespace

void fail(const std::string& what) {
  std::fflush(nullptr);
  std::fprintf(stderr, "\nstand-in: %s\n", what.c_str());
  std::fflush(stderr);
  void* frames[kDeepest];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, kDeepest), STDERR_FILENO);
  ::_exit(kFailureStatus);
}

void report(const char* kind, const std::string& operation) {
  std::FILE* const file = report_file();
  if (file == nullptr) return;
  std::string line = std::string(kind) + '\t' + operation + '\t';
  void* frames[kDeepest];
  const int count = ::backtrace(frames, kDeepest);
  for (int i = 0; i < count; ++i) {
    Dl_info here;
    if (::dladdr(frames[i], &here) == 0 || is_of_libraries(here.dli_fname)) continue;
    const auto offset = static_cast<char*>(frames[i]) - static_cast<char*>(here.dli_fbase);
    line += std::string(here.dli_fname) + '+' + std::to_string(offset) + ' ';
  }
  std::fprintf(file, "%s\n", line.c_str());
}

}  // namespace drift::standin
