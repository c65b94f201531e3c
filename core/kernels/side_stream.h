#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <optional>

namespace drift::kernels {

/// A stream of a device beside the one that computes: copies between the device and pinned host memory, or exchanges
/// with other devices, while other things are computed on either side. The CPU has no streams: all is done when the
/// calls return.
class SideStream {
 public:
  /// A place in a stream. Null: passed already.
  using Mark = std::shared_ptr<c10::Event>;

  explicit SideStream(at::Device device);

  /// Host memory that the device can copy from and to by itself.
  at::Tensor host_buffer(at::IntArrayRef sizes, at::ScalarType type) const;

  /// `to` <- `from`, behind the stream's earlier copies and `after`. @return its end
  Mark copy(const at::Tensor& to, const at::Tensor& from, const Mark& after = nullptr);

  /// queue(stream) puts work of its own into the stream, behind what is there and what the device was told to compute
  /// so far. @return its end
  Mark run(const std::function<void(void* stream)>& queue);

  /// The end of all that the device was told to compute so far.
  Mark computed() const;
  /// What the device is told to compute from now on waits for `mark`.
  void before_computing(const Mark& mark) const;

 private:
  std::optional<c10::Stream> stream_;
};

/// The host waits until `mark` is passed.
void wait_for(const SideStream::Mark& mark);

}  // namespace drift::kernels
