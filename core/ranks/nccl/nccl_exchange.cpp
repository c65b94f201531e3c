// libdrift_nccl.so: sums over the GPUs of a run's ranks. It uses the NCCL that LibTorch's CUDA library has loaded.

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

class NcclExchange final : public DeviceExchange {
 public:
  explicit NcclExchange(ncclComm_t ranks) : ranks_(ranks) {}
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;
  // A run that ends by an error must not wait for the others: unfinished work is given up.
  ~NcclExchange() override { ncclCommAbort(ranks_); }

  const char* all_reduce(std::span<const Piece> pieces, DeviceNumber type, void* stream) override {
    ncclResult_t result = ncclGroupStart();
    for (const Piece& piece : pieces) {
      if (result != ncclSuccess) break;
      result = ncclAllReduce(piece.data, piece.data, static_cast<std::size_t>(piece.count), nccl_type(type), ncclSum,
                             ranks_, static_cast<cudaStream_t>(stream));
    }
    const ncclResult_t end = ncclGroupEnd();
    return failure(result != ncclSuccess ? result : end);
  }

 private:
  ncclComm_t ranks_;
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
  if (result == ncclSuccess) *exchange = new NcclExchange(ranks);
  return failure(result);
}

}  // namespace
}  // namespace drift

extern "C" __attribute__((visibility("default"))) const drift::DeviceExchangeLibrary* drift_device_exchange_library() {
  static constexpr drift::DeviceExchangeLibrary kLibrary{drift::gpu_name, drift::new_id, drift::join};
  return &kLibrary;
}
