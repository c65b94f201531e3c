#include <core/base/tensor_memory.h>

#include <core/base/large_blocks.h>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <cstdlib>
#include <cstring>

namespace drift {
namespace {

LargeBlocks& large_blocks() {
  static auto* blocks = new LargeBlocks;  // tensors may live until the process ends
  return *blocks;
}

// These always are. Smaller ones only where the large ones are many: a small process is better off with one heap
// (docs/performance.md).
constexpr std::size_t kLarge = 4 << 20;
constexpr std::size_t kLargeAmongMany = 256 << 10;
constexpr std::size_t kMany = 32 << 20;

bool is_large(std::size_t bytes) {
  return bytes >= kLarge || (bytes >= kLargeAmongMany && large_blocks().bytes().most >= kMany);
}

c10::Allocator& others() { return *c10::GetDefaultCPUAllocator(); }

/// Of either kind: LibTorch asks for one that fits all blocks.
void give_back(void* block) {
  if (!large_blocks().give_back(block)) others().raw_deallocate(block);
}

class TensorAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* block = is_large(bytes) ? large_blocks().take(bytes) : nullptr;
    if (block == nullptr) block = others().raw_allocate(bytes);  // which reports that there is no memory
    return {block, block, give_back, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return give_back; }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }
};

}  // namespace

void keep_memory_of_large_tensors() {
#if !defined(__SANITIZE_ADDRESS__)
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  if (tunables != nullptr && std::strstr(tunables, "glibc.malloc.") != nullptr) return;
  c10::SetCPUAllocator(new TensorAllocator);  // as long as there are tensors
#endif
}

}  // namespace drift
