#include <core/ranks/devices.h>

#include <core/ranks/ranks.h>

#include <drift/error.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <span>
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
    default: throw Error(std::string("numbers of type ") + at::toString(type) + " are not exchanged between GPUs");
  }
}

std::vector<DeviceExchange::Divided> divided(const std::vector<at::Tensor>& tensors,
                                             const std::vector<at::Tensor>& shares) {
  std::vector<DeviceExchange::Divided> all;
  for (std::size_t t = 0; t < tensors.size(); ++t)
    all.push_back({tensors[t].data_ptr(), shares[t].data_ptr(), tensors[t].numel()});
  return all;
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

std::unique_ptr<Devices> join_devices(Ranks& ranks, at::Device device) {
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
  return std::make_unique<Devices>(std::unique_ptr<DeviceExchange>(exchange), device);
}

Devices::Devices(std::unique_ptr<DeviceExchange> exchange, at::Device device)
    : exchange_(std::move(exchange)), stream_(device) {}

/// exchange(first, count, type, stream) for stretches of tensors of one type.
template <class Exchange>
Devices::Mark Devices::for_types(const std::vector<at::Tensor>& tensors, const Exchange& exchange) {
  return stream_.run([&](void* stream) {
    for (std::size_t begin = 0, end = 0; begin < tensors.size(); begin = end) {
      const at::ScalarType type = tensors[begin].scalar_type();
      while (end < tensors.size() && tensors[end].scalar_type() == type) ++end;
      check(exchange(begin, end - begin, number_of(type), stream));
    }
  });
}

Devices::Mark Devices::all_reduce(const std::vector<at::Tensor>& tensors) {
  std::vector<DeviceExchange::Whole> all;
  for (const at::Tensor& one : tensors) all.push_back({one.data_ptr(), one.numel()});
  return for_types(tensors, [&](std::size_t first, std::size_t count, DeviceNumber type, void* stream) {
    return exchange_->all_reduce(std::span(all).subspan(first, count), type, stream);
  });
}

Devices::Mark Devices::reduce_scatter(const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& shares) {
  const auto all = divided(tensors, shares);
  return for_types(tensors, [&](std::size_t first, std::size_t count, DeviceNumber type, void* stream) {
    return exchange_->reduce_scatter(std::span(all).subspan(first, count), type, stream);
  });
}

Devices::Mark Devices::all_gather(const std::vector<at::Tensor>& shares, const std::vector<at::Tensor>& tensors) {
  const auto all = divided(tensors, shares);
  return for_types(tensors, [&](std::size_t first, std::size_t count, DeviceNumber type, void* stream) {
    return exchange_->all_gather(std::span(all).subspan(first, count), type, stream);
  });
}

}  // namespace drift
