#pragma once

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

/// Collective. Null where ranks share a GPU or this build has no NCCL: sums then go through the hosts.
std::unique_ptr<DeviceExchange> join_devices(Ranks& ranks);

/// Collective: sums of tensors that are all on this rank's GPU, in place.
void all_reduce_on_devices(DeviceExchange& exchange, const std::vector<at::Tensor>& tensors);

}  // namespace drift
