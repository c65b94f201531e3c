#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drift {

enum class DeviceNumber : std::uint32_t { kFloat32, kFloat64, kBfloat16 };

/// Sums over the ranks of a run of what is on their GPUs; each rank has a GPU of its own. It is implemented in a shared
/// library of its own, over NCCL, which is loaded when tensors on GPUs are first to be summed (devices.h). Collective:
/// every rank makes the call, in the same order. Calls return null, or what went wrong.
class DeviceExchange {
 public:
  struct Piece {
    void* data;
    std::int64_t count;
  };

  virtual ~DeviceExchange() = default;

  /// In place, queued on a CUDA stream of this rank's GPU. The sum has the same bits on every rank.
  virtual const char* all_reduce(std::span<const Piece> pieces, DeviceNumber type, void* stream) = 0;
};

/// What the library exports under kDeviceExchangeLibrary.
struct DeviceExchangeLibrary {
  static constexpr std::size_t kNameBytes = 32;
  static constexpr std::size_t kIdBytes = 128;

  const char* (*gpu_name)(char* name);  ///< which GPU of its host this process uses: "0000:3B:00.0"
  const char* (*new_id)(char* id);      ///< by one rank, for all
  const char* (*join)(const char* id, int rank, int size, DeviceExchange** exchange);  ///< collective
};
using FindDeviceExchangeLibrary = const DeviceExchangeLibrary* (*)();
inline constexpr const char* kDeviceExchangeLibrary = "drift_device_exchange_library";

}  // namespace drift
