#include "memory.h"

#include "kernel_memory.h"
#include "report.h"
#include "streams.h"

#include <c10/util/Exception.h>

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>

namespace drift::standin {
namespace {

char* map_addresses(int protection) {
  void* const begin =
      ::mmap(nullptr, kDeviceBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);
  TORCH_CHECK(begin != MAP_FAILED, "stand-in: no address space for device memory");
  return static_cast<char*>(begin);
}

struct Block {
  char* alias;
  std::size_t size, rounded;
  int stream;  ///< on which it was allocated, and may be allocated again
  int writer = -1;
  std::uint64_t written = 0;
  std::map<int, std::uint64_t> reads = {};  ///< since it was written: stream and time
  std::set<int> recorded = {};              ///< streams of recordStream()
};

// Tensors may outlive static objects.
auto& blocks = *new std::map<const char*, std::unique_ptr<Block>>;  // by alias
auto& free_blocks = *new std::multimap<std::size_t, char*>;         // by rounded size
std::size_t used = 0, end_of_used = 0;

Block* block_of(const void* pointer) {
  if (!is_device(pointer)) return nullptr;
  const auto* const alias = static_cast<const char*>(alias_of(pointer));
  const auto next = blocks.upper_bound(alias);
  if (next == blocks.begin()) return nullptr;
  Block& block = *std::prev(next)->second;
  return alias < block.alias + block.rounded ? &block : nullptr;
}

std::string words_of(const Block& block) {
  return "block of " + std::to_string(block.size) + " bytes of stream " + std::to_string(block.stream);
}

void fill_with_nan(void* memory, std::size_t size) { std::memset(memory, 0xFF, size); }

/// Other streams that use the block must be waited for by its own, which gets it next, or be recorded.
void check_free(const Block& block) {
  const auto check = [&](int stream, std::uint64_t time) {
    if (is_behind(block.stream, stream, time) || is_behind(kHost, stream, time) || block.recorded.count(stream) > 0)
      return;
    fail("freed while stream " + std::to_string(stream) + " uses it: " + words_of(block));
  };
  if (block.writer >= 0) check(block.writer, block.written);
  for (const auto& [stream, time] : block.reads) check(stream, time);
}

void free_block(void* context) {
  const Lock lock(one_at_a_time());
  Block& block = *static_cast<Block*>(context);
  check_free(block);
  // Copies that are still queued have the right to the memory.
  if (block.writer >= 0) finish(block.writer);
  for (const auto& [stream, time] : block.reads) finish(stream);
  for (const int stream : block.recorded) finish(stream);
  fill_with_nan(block.alias, block.rounded);
  used -= block.rounded;
  free_blocks.emplace(block.rounded, block.alias);
  blocks.erase(block.alias);
}

std::size_t rounded_size(std::size_t size) {
  const std::size_t grain = size > (1 << 20) ? 1 << 20 : 512;
  return std::max(grain, (size + grain - 1) / grain * grain);
}

char* free_memory(std::size_t rounded) {
  if (const auto found = free_blocks.find(rounded); found != free_blocks.end()) {
    char* const alias = found->second;
    free_blocks.erase(found);
    return alias;
  }
  TORCH_CHECK(end_of_used + rounded <= kDeviceBytes, "stand-in: out of device memory");
  char* const alias = alias_begin + end_of_used;
  end_of_used += rounded;
  fill_with_nan(alias, rounded);
  return alias;
}

class DeviceMemory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    const Lock lock(one_at_a_time());
    if (size == 0) return {nullptr, kDevice};
    const std::size_t rounded = rounded_size(size);
    char* const alias = free_memory(rounded);
    auto block = std::make_unique<Block>(Block{alias, size, rounded, current_stream()});
    Block* const context = block.get();
    blocks[alias] = std::move(block);
    used += rounded;
    return {device_begin + (alias - alias_begin), context, free_block, kDevice};
  }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    std::memcpy(alias_of(to), alias_of(from), size);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr& memory, c10::Stream stream) override {
    const Lock lock(one_at_a_time());
    if (Block* const block = block_of(memory.get())) block->recorded.insert(static_cast<int>(stream.id()));
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override { return {}; }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
    return {kDeviceBytes - used, kDeviceBytes};
  }
};

auto& pinned = *new std::map<const char*, std::size_t>;

class PinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    const Lock lock(one_at_a_time());
    constexpr std::size_t kPage = 4096;
    const std::size_t rounded = (size / kPage + 1) * kPage;
    auto* const memory = static_cast<char*>(std::aligned_alloc(kPage, rounded));
    fill_with_nan(memory, rounded);
    pinned[memory] = rounded;
    return {memory, memory, free_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_pinned; }
  void copy_data(void* to, const void* from, std::size_t size) const override { std::memcpy(to, from, size); }

 private:
  static void free_pinned(void* memory) {
    const Lock lock(one_at_a_time());
    const auto found = pinned.find(static_cast<char*>(memory));
    fill_with_nan(memory, found->second);
    pinned.erase(found);
    std::free(memory);
  }
};

struct sigaction default_action;

void on_fault(int signal, siginfo_t* info, void*) {
  if (is_device(info->si_addr)) {
    const Block* const block = block_of(info->si_addr);
    fail("the host touches device memory, " + (block == nullptr ? "which is free" : words_of(*block)));
  }
  // Not ours: again, with what was there before.
  ::sigaction(signal, &default_action, nullptr);
  if (info->si_code <= 0) ::raise(signal);
}

}  // namespace

char* device_begin = map_addresses(PROT_NONE);
char* alias_begin = map_addresses(PROT_READ | PROT_WRITE);

bool is_device(const void* pointer) {
  const auto* const address = static_cast<const char*>(pointer);
  return address >= device_begin && address < device_begin + kDeviceBytes;
}

void use(const void* pointer, Access access, const std::string& operation, int stream) {
  Block* const block = block_of(pointer);
  if (block == nullptr) {
    if (is_device(pointer)) fail(operation + " uses device memory that is free");
    return;
  }
  const auto check = [&](const char* order, int other, std::uint64_t time) {
    if (is_behind(stream, other, time)) return;
    fail(std::string(order) + " without an order: " + operation + " in stream " + std::to_string(stream) +
         " does not wait for stream " + std::to_string(other) + ", " + words_of(*block));
  };
  const bool writes = access == Access::kWrite;
  if (block->writer >= 0) check(writes ? "write after write" : "read after write", block->writer, block->written);
  if (!writes) {
    block->reads[stream] = time_of(stream);
    return;
  }
  for (const auto& [reader, time] : block->reads) check("write after read", reader, time);
  block->reads.clear();
  block->writer = stream;
  block->written = time_of(stream);
}

c10::DeviceAllocator* device_allocator() {
  static auto* const allocator = new DeviceMemory;
  return allocator;
}

c10::Allocator* pinned_allocator() {
  static auto* const allocator = new PinnedMemory;
  return allocator;
}

bool is_pinned(const void* pointer) {
  const Lock lock(one_at_a_time());
  const auto* const address = static_cast<const char*>(pointer);
  const auto next = pinned.upper_bound(address);
  return next != pinned.begin() && address < std::prev(next)->first + std::prev(next)->second;
}

void watch_host_accesses() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, &default_action);
}

}  // namespace drift::standin

extern "C" __attribute__((visibility("default"))) void* drift_standin_use(const void* pointer, bool writes,
                                                                          const char* kernel, void* stream) {
  using namespace drift::standin;
  const Lock lock(one_at_a_time());
  if (!is_device(pointer)) fail(std::string(kernel) + " gets a pointer to the host's memory");
  const int number = static_cast<int>(reinterpret_cast<std::intptr_t>(stream));
  begin(number);
  use(pointer, writes ? Access::kWrite : Access::kRead, kernel, number);
  return const_cast<void*>(alias_of(pointer));
}
