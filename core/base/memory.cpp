#include <core/base/memory.h>

#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace drift {

void keep_freed_memory() {
#ifdef __GLIBC__
  // No allocation is a mapping of its own, and the heap's free end stays.
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace drift
