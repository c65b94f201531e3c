// libdrift_nccl.so: exchanges between the GPUs of a run's ranks. It uses the NCCL that LibTorch's CUDA library has
// loaded.

#include <core/ranks/device_exchange.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>

namespace drift {
namespace {

static_assert(sizeof(ncclUniqueId) == DeviceExchangeLibrary::kIdBytes);

ncclDataType_t nccl_type(DeviceNumber type) {
  switch (type) {
    case DeviceNumber::kFloat32: return ncclFloat32;
    case DeviceNumber::kFloat64: return ncclFloat64;
    case DeviceNumber::kBfloat16: return ncclBfloat16;
  }
  return ncclFloat32;
}

const char* failure(ncclResult_t result) { return result == ncclSuccess ? nullptr : ncclGetErrorString(result); }
const char* failure(cudaError_t error) { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }

std::size_t bytes_of(DeviceNumber type) {
  switch (type) {
    case DeviceNumber::kFloat32: return 4;
    case DeviceNumber::kFloat64: return 8;
    case DeviceNumber::kBfloat16: return 2;
  }
  return 4;
}

class NcclExchange final : public DeviceExchange {
 public:
  NcclExchange(ncclComm_t ranks, int rank, int size) : ranks_(ranks), rank_(rank), size_(size) {}
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;
  // A run that ends by an error must not wait for the others: unfinished work is given up.
  ~NcclExchange() override { ncclCommAbort(ranks_); }

  const char* all_reduce(std::span<const Whole> tensors, DeviceNumber type, void* stream) override {
    return grouped(tensors, [&](const Whole& one) {
      return ncclAllReduce(one.data, one.data, static_cast<std::size_t>(one.count), nccl_type(type), ncclSum, ranks_,
                           static_cast<cudaStream_t>(stream));
    });
  }

  const char* reduce_scatter(std::span<const Divided> tensors, DeviceNumber type, void* stream) override {
    const auto queue = static_cast<cudaStream_t>(stream);
    return grouped(tensors, [&](const Divided& one) {
      if (one.count % size_ == 0) {
        return ncclReduceScatter(one.whole, one.share, static_cast<std::size_t>(one.count / size_), nccl_type(type),
                                 ncclSum, ranks_, queue);
      }
      return for_shares(one, type, [&](void* part, std::size_t count, int rank) {
        return ncclReduce(part, rank == rank_ ? one.share : part, count, nccl_type(type), ncclSum, rank, ranks_, queue);
      });
    });
  }

  const char* all_gather(std::span<const Divided> tensors, DeviceNumber type, void* stream) override {
    const auto queue = static_cast<cudaStream_t>(stream);
    return grouped(tensors, [&](const Divided& one) {
      if (one.count % size_ == 0) {
        return ncclAllGather(one.share, one.whole, static_cast<std::size_t>(one.count / size_), nccl_type(type), ranks_,
                             queue);
      }
      return for_shares(one, type, [&](void* part, std::size_t count, int rank) {
        return ncclBroadcast(rank == rank_ ? one.share : part, part, count, nccl_type(type), rank, ranks_, queue);
      });
    });
  }

 private:
  /// call(tensor) for each of them, as one operation.
  template <class Tensor, class Call>
  static const char* grouped(std::span<const Tensor> tensors, const Call& call) {
    ncclResult_t result = ncclGroupStart();
    for (const Tensor& one : tensors) {
      if (result == ncclSuccess && one.count > 0) result = call(one);
    }
    const ncclResult_t end = ncclGroupEnd();
    return failure(result != ncclSuccess ? result : end);
  }

  /// Shares of different lengths, which NCCL has no operation for: call(part, count, rank) for that of each rank.
  template <class Call>
  ncclResult_t for_shares(const Divided& one, DeviceNumber type, const Call& call) const {
    ncclResult_t result = ncclSuccess;
    for (int rank = 0; rank < size_ && result == ncclSuccess; ++rank) {
      const auto [begin, end] = share_of_rank(one.count, rank, size_);
      if (begin == end) continue;
      void* const part = static_cast<char*>(one.whole) + static_cast<std::size_t>(begin) * bytes_of(type);
      result = call(part, static_cast<std::size_t>(end - begin), rank);
    }
    return result;
  }

  ncclComm_t ranks_;
  const int rank_, size_;
};

const char* gpu_name(char* name) {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  return failure(error != cudaSuccess
                     ? error
                     : cudaDeviceGetPCIBusId(name, static_cast<int>(DeviceExchangeLibrary::kNameBytes), device));
}

const char* new_id(char* id) {
  ncclUniqueId made;
  const ncclResult_t result = ncclGetUniqueId(&made);
  std::memcpy(id, &made, sizeof made);
  return failure(result);
}

const char* join(const char* id, int rank, int size, DeviceExchange** exchange) {
  ncclUniqueId given;
  std::memcpy(&given, id, sizeof given);
  ncclComm_t ranks = nullptr;
  const ncclResult_t result = ncclCommInitRank(&ranks, size, given, rank);
  if (result == ncclSuccess) *exchange = new NcclExchange(ranks, rank, size);
  return failure(result);
}

}  // namespace
}  // namespace drift

extern "C" __attribute__((visibility("default"))) const drift::DeviceExchangeLibrary* drift_device_exchange_library() {
  static constexpr drift::DeviceExchangeLibrary kLibrary{drift::gpu_name, drift::new_id, drift::join};
  return &kLibrary;
}
