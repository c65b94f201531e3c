#pragma once

// Device memory: addresses that the host may not touch, and an alias of each at a constant distance, where the CPU's
// kernels work. New and freed memory holds NaN. A block knows which streams read and wrote it: use without an order
// between streams, or a free while it is in use, is a failure.

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <string>

namespace drift::standin {

inline const c10::Device kDevice(c10::kCUDA, 0);

extern char *device_begin, *alias_begin;
constexpr std::size_t kDeviceBytes = std::size_t{40} << 30;

bool is_device(const void* pointer);
template <class T>
T* alias_of(T* pointer) {
  if (!is_device(pointer)) return pointer;
  return reinterpret_cast<T*>(alias_begin + (reinterpret_cast<const char*>(pointer) - device_begin));
}

enum class Access { kRead, kWrite };
/// The work that began last in `stream` uses the block with this address. Null and the host's memory are left alone.
void use(const void* pointer, Access access, const std::string& operation, int stream);

c10::DeviceAllocator* device_allocator();
/// Of host memory that copies do not wait for.
c10::Allocator* pinned_allocator();
bool is_pinned(const void* pointer);

/// A host access to device memory becomes a failure, in place of a crash.
void watch_host_accesses();

}  // namespace drift::standin
