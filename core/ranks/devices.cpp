#include <core/ranks/devices.h>

#include <core/ranks/ranks.h>

#include <drift/error.h>

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>

namespace drift {
namespace {

const DeviceExchangeLibrary* open_library() {
  Dl_info here{};
  ::dladdr(reinterpret_cast<void*>(&choose_gpu), &here);
  const auto file = std::filesystem::path(here.dli_fname).parent_path() / "libdrift_nccl.so";
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const find = library == nullptr ? nullptr : ::dlsym(library, kDeviceExchangeLibrary);
  return find == nullptr ? nullptr : reinterpret_cast<FindDeviceExchangeLibrary>(find)();
}

/// Of NVIDIA's driver on this host; CUDA itself would take note of which GPUs it may use.
std::int64_t gpus_of_host() {
  std::error_code none;
  const std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", none);
  return none ? 0 : std::distance(begin(gpus), end(gpus));
}

DeviceNumber number_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return DeviceNumber::kFloat32;
    case at::kDouble: return DeviceNumber::kFloat64;
    case at::kBFloat16: return DeviceNumber::kBfloat16;
    default: throw Error(std::string("numbers of type ") + at::toString(type) + " are not summed between GPUs");
  }
}

void check(const char* failure) {
  if (failure != nullptr)
    throw Error(std::string("NCCL: ") + failure, "NCCL_DEBUG=INFO says more; docs/distributed.md, \"GPUs\"");
}

}  // namespace

std::string gpu_of_rank(const std::string& visible, std::int64_t gpus, std::int64_t rank_on_host) {
  std::vector<std::string> names;
  std::istringstream list(visible);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  if (visible.empty()) {
    for (std::int64_t gpu = 0; gpu < gpus; ++gpu) names.push_back(std::to_string(gpu));
  }
  if (names.size() < 2) return "";
  return names[static_cast<std::size_t>(rank_on_host) % names.size()];
}

void choose_gpu(std::int64_t rank_on_host) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && *visible == '\0') return;  // none, on purpose
  const std::string own = gpu_of_rank(visible == nullptr ? "" : visible, gpus_of_host(), rank_on_host);
  if (!own.empty()) ::setenv("CUDA_VISIBLE_DEVICES", own.c_str(), /*overwrite=*/1);
}

std::unique_ptr<DeviceExchange> join_devices(Ranks& ranks) {
  const DeviceExchangeLibrary* const library = open_library();
  std::string own;
  if (library != nullptr) {
    char name[DeviceExchangeLibrary::kNameBytes] = {};
    check(library->gpu_name(name));
    own = Ranks::host() + " " + name;
  }
  const auto gpus = ranks.all_gather(own);
  const bool each_has_its_own = std::set<std::string>(gpus.begin(), gpus.end()).size() == gpus.size();
  if (!each_has_its_own || std::ranges::count(gpus, "") > 0) return nullptr;

  std::string id(DeviceExchangeLibrary::kIdBytes, '\0');
  if (ranks.is_first()) check(library->new_id(id.data()));
  id = ranks.broadcast(id);
  DeviceExchange* exchange = nullptr;
  check(library->join(id.data(), static_cast<int>(ranks.rank()), static_cast<int>(ranks.size()), &exchange));
  return std::unique_ptr<DeviceExchange>(exchange);
}

void all_reduce_on_devices(DeviceExchange& exchange, const std::vector<at::Tensor>& tensors) {
  const at::Device device = tensors.front().device();
  void* const stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
  for (std::size_t begin = 0, end = 0; begin < tensors.size(); begin = end) {
    const at::ScalarType type = tensors[begin].scalar_type();
    std::vector<at::Tensor> held;
    std::vector<DeviceExchange::Piece> pieces;
    for (end = begin; end < tensors.size() && tensors[end].scalar_type() == type; ++end) {
      held.push_back(tensors[end].contiguous());
      pieces.push_back({held.back().data_ptr(), held.back().numel()});
    }
    check(exchange.all_reduce(pieces, number_of(type), stream));
    for (std::size_t i = begin; i < end; ++i) {
      if (!held[i - begin].is_same(tensors[i])) tensors[i].copy_(held[i - begin]);
    }
  }
}

}  // namespace drift
