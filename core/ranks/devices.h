#pragma once

#include <core/kernels/side_stream.h>
#include <core/ranks/device_exchange.h>

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace drift {

class Ranks;

/// Which GPUs the process is to see: CUDA_VISIBLE_DEVICES for the rank with this number on its host. Empty: as it is.
/// @param visible  the variable's present value; a launcher may have given each rank its own
/// @param gpus     of the host
std::string gpu_of_rank(const std::string& visible, std::int64_t gpus, std::int64_t rank_on_host);

/// Before CUDA is loaded: each rank of a host has its own GPU, in turn where there are more ranks than GPUs.
void choose_gpu(std::int64_t rank_on_host);

/// Exchanges of tensors on this rank's GPU, one after another on a stream of its own, in the order of the calls. The
/// host waits for none of them. What they use stays until finish() of the mark that they return. Collective.
class Devices {
 public:
  using Mark = kernels::SideStream::Mark;

  Devices(std::unique_ptr<DeviceExchange> exchange, at::Device device);

  /// Sums over the ranks, in place; the tensors are contiguous.
  Mark all_reduce(const std::vector<at::Tensor>& tensors);
  /// The shares, flat, get this rank's part of the sums.
  Mark reduce_scatter(const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& shares);
  /// The tensors get the shares of all ranks. A share, flat, may be where it belongs in its tensor.
  Mark all_gather(const std::vector<at::Tensor>& shares, const std::vector<at::Tensor>& tensors);

  /// What the GPU is told to compute from now on waits for `mark`.
  void finish(const Mark& mark) const { stream_.before_computing(mark); }

 private:
  template <class Exchange>
  Mark for_types(const std::vector<at::Tensor>& tensors, const Exchange& exchange);

  std::unique_ptr<DeviceExchange> exchange_;
  kernels::SideStream stream_;
};

/// Collective. Null where ranks share a GPU or this build has no NCCL: exchanges then go through the hosts.
std::unique_ptr<Devices> join_devices(Ranks& ranks, at::Device device);

}  // namespace drift
