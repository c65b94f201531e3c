#include "kernel_memory.h"

#include "memory.h"
#include "report.h"
#include "streams.h"

#include <cstdint>

namespace {

using namespace drift::standin;

int number_of(void* stream) { return static_cast<int>(reinterpret_cast<std::intptr_t>(stream)); }

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void drift_standin_begin(const char*, void* stream) {
  const Lock lock(one_at_a_time());
  begin(number_of(stream));
}

EXPORTED void* drift_standin_use(const void* pointer, bool writes, const char* kernel, void* stream) {
  const Lock lock(one_at_a_time());
  if (!is_device(pointer)) fail(std::string(kernel) + " gets a pointer to the host's memory");
  use(pointer, writes ? Access::kWrite : Access::kRead, kernel, number_of(stream));
  return const_cast<void*>(alias_of(pointer));
}
