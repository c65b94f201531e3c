#include <core/io/safetensors.h>

#include <core/io/atomic.h>
#include <core/io/file_error.h>

#include <drift/error.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace drift {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

struct Mapped {
  std::shared_ptr<char> bytes;
  std::uint64_t size = 0;
};

// Private and writable: an in-place operation on a tensor changes a copy of the page, never the file.
Mapped map_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_file_error("read", path, errno);
  struct stat status {};
  void* address = MAP_FAILED;
  int error_number = 0;
  if (::fstat(descriptor, &status) != 0) {
    error_number = errno;
  } else if (!S_ISREG(status.st_mode)) {
    error_number = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  } else if (status.st_size > 0) {
    address = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    error_number = address == MAP_FAILED ? errno : 0;
  }
  ::close(descriptor);
  if (error_number != 0) throw_file_error("read", path, error_number);
  if (address == MAP_FAILED) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  return {std::shared_ptr<char>(static_cast<char*>(address), [size](char* start) { ::munmap(start, size); }), size};
}

SafetensorsHeader layout(const std::vector<NamedTensor>& tensors, std::vector<at::Tensor>& in_file_order) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) {
    safetensors_dtype_name(tensor.tensor.scalar_type());
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const int rank_a = safetensors_dtype_rank(a->tensor.scalar_type());
    const int rank_b = safetensors_dtype_rank(b->tensor.scalar_type());
    return rank_a != rank_b ? rank_a > rank_b : a->name < b->name;
  });
  SafetensorsHeader header;
  std::uint64_t position = 0;
  for (const NamedTensor* named : order) {
    const at::Tensor& tensor = named->tensor;
    header.entries.push_back(
        {named->name, tensor.scalar_type(), tensor.sizes().vec(), position, position + tensor.nbytes()});
    position = header.entries.back().end;
    in_file_order.push_back(tensor);
  }
  return header;
}

void refuse_unusable_names(const std::vector<NamedTensor>& tensors, const std::filesystem::path& path) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    throw Error("cannot write " + path.string() + ": two tensors have the name " + quoted_name(*twice));
  if (std::binary_search(names.begin(), names.end(), "__metadata__")) {
    throw Error("cannot write " + path.string() + ": a tensor has the reserved name `__metadata__`");
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path) : path_(std::move(path)) {
  const std::string file = path_.string();
  const Mapped mapped = map_file(path_);
  const std::string damaged = "the file is cut off or no safetensors file: fetch or write it again";
  if (mapped.size < kLengthBytes) {
    throw Error(file + ": a safetensors file begins with 8 bytes of header length, this file has " +
                    std::to_string(mapped.size),
                damaged);
  }
  std::uint64_t length = 0;
  std::memcpy(&length, mapped.bytes.get(), kLengthBytes);
  if (length > kLongestHeader || length > mapped.size - kLengthBytes) {
    throw Error(file + ": its header claims " + std::to_string(length) + " bytes; the file has " +
                    std::to_string(mapped.size - kLengthBytes) + " after the length, and the format allows " +
                    std::to_string(kLongestHeader),
                damaged);
  }
  const std::string_view json(mapped.bytes.get() + kLengthBytes, length);
  if (json.empty() || json.front() != '{') throw Error(file + ": its header does not begin with {", damaged);
  header_ = parse_safetensors_header(json, mapped.size - kLengthBytes - length, file);
  for (std::size_t i = 0; i < header_.entries.size(); ++i) index_.emplace(header_.entries[i].name, i);
  mapping_ = mapped.bytes;
  data_ = mapping_.get() + kLengthBytes + length;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &header_.entries[found->second];
}

at::Tensor SafetensorsFile::tensor(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  if (entry == nullptr) throw Error(path_.string() + " holds no tensor " + quoted_name(name));
  // Bytes other than 0 and 1 must not become a bool.
  const bool is_bool = entry->dtype == at::kBool;
  const auto options = at::TensorOptions().dtype(is_bool ? at::kByte : entry->dtype);
  char* start = data_ + entry->begin;
  if (entry->begin == entry->end) return at::empty(entry->shape, at::TensorOptions().dtype(entry->dtype));
  const bool aligned = reinterpret_cast<std::uintptr_t>(start) % c10::elementSize(entry->dtype) == 0;
  at::Tensor tensor;
  if (aligned) {
    tensor = at::from_blob(
        start, entry->shape, [keep = mapping_](void*) {}, options);
  } else {
    tensor = at::empty(entry->shape, options);
    std::memcpy(tensor.data_ptr(), start, entry->end - entry->begin);
  }
  return is_bool ? tensor.ne(0) : tensor;
}

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  refuse_unusable_names(tensors, path);
  std::vector<at::Tensor> in_file_order;
  SafetensorsHeader header = layout(tensors, in_file_order);
  header.metadata = metadata;
  const std::string json = format_safetensors_header(header);
  const std::uint64_t length = json.size();
  AtomicFile file(path);
  file.write(&length, kLengthBytes);
  file.write(json.data(), json.size());
  for (const at::Tensor& tensor : in_file_order) {
    const at::Tensor plain = tensor.detach().cpu().contiguous();
    file.write(plain.const_data_ptr(), plain.nbytes());
  }
  file.commit();
}

}  // namespace drift
