// The device "cuda:0" as LibTorch asks for it: streams and events, memory, generators.

#include "memory.h"
#include "streams.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>

namespace drift::standin {
namespace {

c10::Stream stream_of(int number) { return c10::Stream(c10::Stream::UNSAFE, kDevice, number); }
int number_of(const c10::Stream& stream) { return static_cast<int>(stream.id()); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device) const override { return stream_of(current_stream()); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream_of(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    static std::atomic<int> next = 0;
    return stream_of(1 + next++ % (kStreams - 1));
  }
  c10::Stream getNewStream(c10::Device, int) const override { return getStreamFromGlobalPool(kDevice, false); }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream_of(set_current_stream(number_of(stream)));
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(stream.id()));
  }
  bool queryStream(const c10::Stream& stream) const override {
    const Lock lock(one_at_a_time());
    finish(number_of(stream));
    return true;
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    const Lock lock(one_at_a_time());
    wait_on_host(number_of(stream), "stream");
  }
  void synchronizeDevice(const c10::DeviceIndex) const override {
    const Lock lock(one_at_a_time());
    for (int stream = 0; stream < kStreams; ++stream) wait_on_host(stream, "device");
  }
  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
    device_allocator()->recordStream(memory, stream);
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    const Lock lock(one_at_a_time());
    if (*event == nullptr) *event = new Event;
    standin::record(*static_cast<Event*>(*event), number_of(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    const Lock lock(one_at_a_time());
    if (event != nullptr) wait_in_stream(*static_cast<Event*>(event), number_of(stream));
  }
  void synchronizeEvent(void* event) const override {
    const Lock lock(one_at_a_time());
    if (event != nullptr) wait_on_host(*static_cast<Event*>(event));
  }
  bool queryEvent(void* event) const override {
    const Lock lock(one_at_a_time());
    if (event != nullptr && static_cast<Event*>(event)->stream >= 0) finish(static_cast<Event*>(event)->stream);
    return true;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
};

const c10::impl::DeviceGuardImplRegistrar guard(c10::kCUDA, new Guard);

[[maybe_unused]] const bool is_ready = [] {
  c10::SetAllocator(c10::kCUDA, device_allocator(), /*priority=*/1);
  watch_host_accesses();
  return true;
}();

}  // namespace
}  // namespace drift::standin

namespace at {

struct StandInHooks final : CUDAHooksInterface {
  explicit StandInHooks(CUDAHooksArgs) {}

  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }

  int getNumGPUs() const override { return 1; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex current_device() const override { return 0; }
  DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(DeviceIndex) const override {}
  DeviceIndex exchangeDevice(DeviceIndex) const override { return 0; }
  DeviceIndex maybeExchangeDevice(DeviceIndex) const override { return 0; }
  Device getDeviceFromPtr(void*) const override { return {kCUDA, 0}; }

  bool isPinnedPtr(const void* pointer) const override { return drift::standin::is_pinned(pointer); }
  Allocator* getPinnedMemoryAllocator() const override { return drift::standin::pinned_allocator(); }
  Allocator* getCUDADeviceAllocator() const override { return drift::standin::device_allocator(); }

  const Generator& getDefaultGenerator(DeviceIndex) const override {
    static const Generator generator = at::detail::createCPUGenerator();
    return generator;
  }
  Generator getNewGenerator(DeviceIndex) const override { return at::detail::createCPUGenerator(); }
};
using CUDAHooks = StandInHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)

}  // namespace at
