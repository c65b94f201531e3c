#include "tests/support/device_waits.h"

#include <c10/util/Exception.h>

#include <string>

#include <dlfcn.h>

namespace drift::test {
namespace {

struct CountingHandler final : c10::WarningHandler {
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("synchronizing") != std::string::npos) ++waits;
  }
  int waits = 0;
};

/// c10::cuda::warning_state(), whose only member is the mode: 0 off, 1 warn.
int* sync_debug_mode() {
  if (void* state = dlsym(RTLD_DEFAULT, "_ZZN3c104cuda13warning_stateEvE14warning_state_"))
    return static_cast<int*>(state);
  void* function = dlsym(RTLD_DEFAULT, "_ZN3c104cuda13warning_stateEv");
  return function == nullptr ? nullptr : reinterpret_cast<int* (*)()>(function)();
}

}  // namespace

bool can_count_waits() { return sync_debug_mode() != nullptr; }

int waits_of(const std::function<void()>& work) {
  CountingHandler handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  const c10::WarningUtils::WarnAlways always(true);
  *sync_debug_mode() = 1;
  work();
  *sync_debug_mode() = 0;
  return handler.waits;
}

}  // namespace drift::test
