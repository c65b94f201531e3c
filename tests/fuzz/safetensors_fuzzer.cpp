// A safetensors file of any bytes is refused with an Error or read, and what is read is written again to the last byte.

#include <core/io/atomic.h>
#include <core/io/safetensors.h>
#include <tests/fuzz/fuzz.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace drift::safetensors_fuzzer {
namespace {

// Whatever the shape claims, exactly the entry's bytes can be read.
void read_everything(const drift::SafetensorsFile& file) {
  for (const drift::SafetensorsEntry& entry : file.entries()) {
    const at::Tensor tensor = file.tensor(entry.name);
    drift::fuzz::require(tensor.nbytes() == entry.end - entry.begin);
    const auto* bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
    volatile unsigned sum = std::accumulate(bytes, bytes + tensor.nbytes(), 0U);
    (void)sum;
    const auto type = at::isFloatingType(entry.dtype) ? at::kDouble : entry.dtype;
    const at::Tensor target = at::empty(entry.shape, at::TensorOptions().dtype(type));
    std::int64_t first = 0;
    for (const at::Tensor& piece : drift::tensor_pieces(target)) {
      file.read_elements(entry, first, piece);
      first += piece.numel();
    }
  }
}

void write_again(const drift::SafetensorsFile& file, std::string_view bytes) {
  static const drift::AtomicFolder folder(std::filesystem::temp_directory_path() / "drift-fuzz-safetensors");
  std::vector<drift::NamedTensor> tensors;
  bool holds_bools = false;  // their bytes become 0 and 1
  for (const drift::SafetensorsEntry& entry : file.entries()) {
    tensors.push_back({entry.name, file.tensor(entry.name)});
    holds_bools = holds_bools || entry.dtype == at::kBool;
  }
  const auto path = folder.path() / "again";
  drift::write_safetensors_like(path, file, tensors);
  drift::fuzz::require(holds_bools || drift::read_whole_file(path) == bytes);
  drift::write_safetensors(path, tensors, file.metadata());
  const drift::SafetensorsFile again(path);
  drift::fuzz::require(again.entries().size() == file.entries().size() && again.metadata() == file.metadata());
}

}  // namespace

DRIFT_FUZZ_TARGET(safetensors) {
  static const int descriptor = ::memfd_create("input", MFD_CLOEXEC);
  drift::fuzz::require(::ftruncate(descriptor, 0) == 0);
  drift::fuzz::require(::pwrite(descriptor, data, size, 0) == static_cast<ssize_t>(size));
  drift::fuzz::accepted([&] {
    const at::NoGradGuard no_grad;
    const drift::SafetensorsFile file("/proc/self/fd/" + std::to_string(descriptor));
    read_everything(file);
    write_again(file, {reinterpret_cast<const char*>(data), size});
  });
  return 0;
}

// Changes header and data apart and keeps the length between them true most of the time: few changes of the bytes as
// they are would get past it.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  constexpr std::size_t kLengthBytes = 8;
  std::uint64_t length = 0;
  if (size >= kLengthBytes) std::memcpy(&length, data, kLengthBytes);
  if (seed % 8 == 0 || size < kLengthBytes || length > size - kLengthBytes || max_size < 2 * kLengthBytes) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::vector<std::uint8_t> header(data + kLengthBytes, data + kLengthBytes + length);
  std::vector<std::uint8_t> values(data + kLengthBytes + length, data + size);
  std::vector<std::uint8_t>& changed = seed % 4 == 1 ? values : header;
  const std::size_t room = max_size - size + changed.size();
  const std::size_t old_size = changed.size();
  changed.resize(std::max<std::size_t>(room, 1));
  changed.resize(LLVMFuzzerMutate(changed.data(), old_size, changed.size()));
  length = header.size();
  if (kLengthBytes + header.size() + values.size() > max_size) return size;
  std::memcpy(data, &length, kLengthBytes);
  std::copy(header.begin(), header.end(), data + kLengthBytes);
  std::copy(values.begin(), values.end(), data + kLengthBytes + header.size());
  return kLengthBytes + header.size() + values.size();
}

}  // namespace drift::safetensors_fuzzer
