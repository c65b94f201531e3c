#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace drift {

enum class DeviceNumber : std::uint32_t { kFloat32, kFloat64, kBfloat16 };

/// One rank's part of `count` pieces of work, or elements: [begin, end); it may be empty.
constexpr std::pair<std::int64_t, std::int64_t> share_of_rank(std::int64_t count, std::int64_t rank,
                                                              std::int64_t size) {
  return {count * rank / size, count * (rank + 1) / size};
}

/// Exchanges between the ranks of a run of what is on their GPUs; each rank has a GPU of its own. It is implemented in
/// a shared library of its own, over NCCL, which is loaded when tensors on GPUs are first to be exchanged (devices.h).
/// Collective: every rank makes the call, in the same order and with the same counts. What it does is queued on a CUDA
/// stream of this rank's GPU. Calls return null, or what went wrong.
class DeviceExchange {
 public:
  struct Whole {
    void* data;
    std::int64_t count;
  };
  /// A tensor's elements, and this rank's share_of_rank() of them.
  struct Divided {
    void* whole;
    void* share;
    std::int64_t count;
  };

  virtual ~DeviceExchange() = default;

  /// Sums over the ranks, in place; a sum has the same bits on every rank.
  virtual const char* all_reduce(std::span<const Whole> tensors, DeviceNumber type, void* stream) = 0;
  /// The shares get this rank's part of the sums over the ranks.
  virtual const char* reduce_scatter(std::span<const Divided> tensors, DeviceNumber type, void* stream) = 0;
  /// The wholes get the shares of all ranks. A share may be where it belongs in its whole.
  virtual const char* all_gather(std::span<const Divided> tensors, DeviceNumber type, void* stream) = 0;
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
