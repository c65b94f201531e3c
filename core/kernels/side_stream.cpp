#include <core/kernels/side_stream.h>

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace drift::kernels {
namespace {

c10::Stream computing_stream(at::Device device) { return c10::impl::VirtualGuardImpl(device.type()).getStream(device); }

SideStream::Mark mark_in(const c10::Stream& stream) {
  auto mark = std::make_shared<c10::Event>(stream.device_type());
  mark->record(stream);
  return mark;
}

}  // namespace

SideStream::SideStream(at::Device device) {
  if (!device.is_cpu()) stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

at::Tensor SideStream::host_buffer(at::IntArrayRef sizes, at::ScalarType type) const {
  return at::empty(sizes, at::TensorOptions(type).pinned_memory(stream_.has_value()));
}

SideStream::Mark SideStream::copy(const at::Tensor& to, const at::Tensor& from, const Mark& after) {
  auto target = to;
  if (!stream_) {
    target.copy_(from);
    return nullptr;
  }
  if (after) after->block(*stream_);
  const c10::StreamGuard copying(*stream_);
  target.copy_(from, /*non_blocking=*/true);
  return mark_in(*stream_);
}

SideStream::Mark SideStream::run(const std::function<void(void* stream)>& queue) {
  if (!stream_) {
    queue(nullptr);
    return nullptr;
  }
  computed()->block(*stream_);
  queue(stream_->native_handle());
  return mark_in(*stream_);
}

SideStream::Mark SideStream::computed() const {
  return stream_ ? mark_in(computing_stream(stream_->device())) : nullptr;
}

void SideStream::before_computing(const Mark& mark) const {
  if (mark) mark->block(computing_stream(stream_->device()));
}

void wait_for(const SideStream::Mark& mark) {
  if (mark) mark->synchronize();
}

}  // namespace drift::kernels
