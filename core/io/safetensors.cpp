#include <core/io/safetensors.h>

#include <core/base/quote.h>
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
#include <cassert>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace drift {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

struct Mapped {
  std::shared_ptr<const Descriptor> file;
  std::shared_ptr<char> bytes;
  std::uint64_t size = 0;
};

// Private and writable: an in-place operation on a tensor changes a copy of the page, never the file.
Mapped map_file(const std::filesystem::path& path) {
  require_regular_file(path);
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) throw_file_error("read", path, errno);
  auto file = std::make_shared<const Descriptor>(opened, path.string());
  struct stat status {};
  void* address = MAP_FAILED;
  int error_number = 0;
  if (::fstat(file->get(), &status) != 0) {
    error_number = errno;
  } else if (!S_ISREG(status.st_mode)) {
    error_number = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  } else if (status.st_size > 0) {
    address = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_NORESERVE, file->get(), 0);
    error_number = address == MAP_FAILED ? errno : 0;
  }
  if (error_number != 0) throw_file_error("read", path, error_number);
  if (address == MAP_FAILED) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  return {std::move(file),
          std::shared_ptr<char>(static_cast<char*>(address), [size](char* start) { ::munmap(start, size); }), size};
}

// Bytes other than 0 and 1 must not become a bool.
at::ScalarType stored_type(const SafetensorsEntry& entry) { return entry.dtype == at::kBool ? at::kByte : entry.dtype; }

void sort_by_type(std::vector<NamedTensor>& tensors) {
  // Larger types first: then each tensor is at a multiple of its element size.
  std::stable_sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return safetensors_dtype_rank(a.tensor.scalar_type()) > safetensors_dtype_rank(b.tensor.scalar_type());
  });
}

std::vector<NamedTensor> in_order(std::vector<NamedTensor> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  sort_by_type(tensors);
  return tensors;
}

std::string format_header(const std::vector<NamedTensor>& in_file_order,
                          const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header;
  header.metadata = metadata;
  std::uint64_t position = 0;
  for (const auto& [name, tensor] : in_file_order) {
    header.entries.push_back({name, tensor.scalar_type(), tensor.sizes().vec(), position, position + tensor.nbytes()});
    position = header.entries.back().end;
  }
  return format_safetensors_header(header);
}

void write_header(AtomicFile& file, std::string_view header) {
  const std::uint64_t length = header.size();
  file.write(&length, kLengthBytes);
  file.write(header.data(), header.size());
}

// Plain memory with the piece's values; `first` is its first element in the tensor.
at::Tensor values_of(const NamedTensor& named, std::int64_t first, const at::Tensor& piece, const FillElements& fill) {
  if (!piece.is_meta()) return piece.cpu().contiguous();
  at::Tensor values = at::empty(piece.sizes(), piece.options().device(at::kCPU));
  fill(named, first, values);
  return values;
}

void write_tensor(AtomicFile& file, const NamedTensor& named, const FillElements& fill) {
  std::int64_t first = 0;
  for (const at::Tensor& piece : tensor_pieces(named.tensor)) {
    const at::Tensor plain = values_of(named, first, piece, fill);
    file.write(plain.const_data_ptr(), plain.nbytes());
    first += piece.numel();
  }
}

void read_at(const Descriptor& file, const std::filesystem::path& path, std::uint64_t at, void* to,
             std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file.get(), static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(at + done));
    if (got < 0 && errno != EINTR) throw_file_error("read", path, errno);
    if (got == 0)
      throw Error(path.string() + " became shorter while it was read", "another program has changed it: copy it again");
    if (got > 0) done += static_cast<std::uint64_t>(got);
  }
}

/// A file that several processes write, each at its places.
class PlacedFile {
 public:
  PlacedFile(std::filesystem::path path, int flags) : path_(std::move(path)) {
    const int opened = ::open(path_.c_str(), O_CLOEXEC | flags, 0666);
    if (opened < 0) throw_file_error("write", path_, errno);
    file_ = Descriptor(opened, path_.string());
  }

  void reserve(std::uint64_t bytes) const {
    const int error_number = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes));
    if (error_number != 0) throw_file_error("write", path_, error_number);
  }
  void write(std::uint64_t at, const void* data, std::uint64_t bytes) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t written =
          ::pwrite(file_.get(), static_cast<const char*>(data) + done, bytes - done, static_cast<off_t>(at + done));
      if (written < 0 && errno != EINTR) throw_file_error("write", path_, errno);
      if (written > 0) done += static_cast<std::uint64_t>(written);
    }
  }
  /// What it holds, and where its data begins. Not by a mapping: all of it would count as this process's memory.
  std::pair<SafetensorsHeader, std::uint64_t> header() const {
    std::uint64_t length = 0;
    read_at(file_, path_, 0, &length, kLengthBytes);
    std::string text(length, '\0');
    read_at(file_, path_, kLengthBytes, text.data(), length);
    const std::uint64_t data = kLengthBytes + length;
    return {parse_safetensors_header(text, std::filesystem::file_size(path_) - data, path_.string()), data};
  }
  void flush() const {
    if (::fdatasync(file_.get()) != 0) throw_file_error("write", path_, errno);
  }

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

/// Of its full size, with the values of the tensors that are not on the meta device.
void make_file(const std::filesystem::path& path, const std::string& header,
               const std::vector<NamedTensor>& in_file_order) {
  std::vector<TensorPart> here;
  std::uint64_t size = kLengthBytes + header.size();
  for (const auto& [name, tensor] : in_file_order) {
    size += tensor.nbytes();
    if (!tensor.is_meta()) here.push_back({name, 0, tensor.cpu().contiguous()});
  }
  {
    const PlacedFile file(path, O_WRONLY | O_CREAT | O_TRUNC);
    file.reserve(size);
    const std::uint64_t length = header.size();
    file.write(0, &length, kLengthBytes);
    file.write(kLengthBytes, header.data(), header.size());
  }
  write_elements(path, here);
}

void write_file(const std::filesystem::path& path, const std::string& header,
                const std::vector<NamedTensor>& in_file_order, const FillElements& fill, const CompleteFile& complete) {
  if (complete) {
    make_file(path, header, in_file_order);
    return complete(path);
  }
  AtomicFile file(path);
  write_header(file, header);
  for (const NamedTensor& named : in_file_order) write_tensor(file, named, fill);
  file.commit();
}

/// The tensors that `source` holds, in its order, and the header; it is the source's own, where no type differs.
std::pair<std::string, std::vector<NamedTensor>> laid_out_like(const SafetensorsFile& source,
                                                               const std::vector<NamedTensor>& tensors) {
  std::map<std::string_view, at::Tensor> by_name;
  for (const NamedTensor& tensor : tensors) by_name.emplace(tensor.name, tensor.tensor);
  std::vector<NamedTensor> order;
  bool same_types = true;
  for (const SafetensorsEntry& entry : source.entries()) {
    order.push_back({entry.name, by_name.at(entry.name)});
    assert(order.back().tensor.sizes() == at::IntArrayRef(entry.shape));
    same_types = same_types && order.back().tensor.scalar_type() == entry.dtype;
  }
  if (same_types) return {std::string(source.header_text()), order};
  sort_by_type(order);
  return {format_header(order, source.metadata()), order};
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

std::vector<at::Tensor> tensor_pieces(const at::Tensor& tensor) {
  std::vector<at::Tensor> pieces;
  if (tensor.numel() == 0) return pieces;
  const at::Tensor rows = tensor.is_contiguous() ? tensor.detach().view(-1) : tensor.detach();
  const std::int64_t row_bytes = static_cast<std::int64_t>(rows.nbytes()) / rows.size(0);
  const std::int64_t at_once = std::max<std::int64_t>(1, kPieceBytes / row_bytes);
  for (std::int64_t first = 0; first < rows.size(0); first += at_once) {
    pieces.push_back(rows.narrow(0, first, std::min(at_once, rows.size(0) - first)));
  }
  return pieces;
}

SafetensorsFile::SafetensorsFile(std::filesystem::path path) : path_(std::move(path)) {
  const std::string file = path_.string();
  const Mapped mapped = map_file(path_);
  const std::string damaged = "the file is truncated or not a safetensors file: fetch or write it again";
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
  file_ = mapped.file;
  mapping_ = mapped.bytes;
  header_text_ = json;
  data_ = mapping_.get() + kLengthBytes + length;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &header_.entries[found->second];
}

// Shares the mapped memory where it can.
at::Tensor SafetensorsFile::tensor(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  if (entry == nullptr) throw Error(path_.string() + " has no tensor " + quoted_name(name));
  const auto options = at::TensorOptions().dtype(stored_type(*entry));
  char* start = data_ + entry->begin;
  const bool is_empty = entry->begin == entry->end;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(start) % c10::elementSize(entry->dtype) == 0;
  at::Tensor tensor;
  if (is_aligned && !is_empty) {
    tensor = at::from_blob(
        start, entry->shape, [keep = mapping_](void*) {}, options);
  } else {
    tensor = at::empty(entry->shape, options);
    if (!is_empty) std::memcpy(tensor.data_ptr(), start, tensor.nbytes());
  }
  return entry->dtype == at::kBool ? tensor.ne(0) : tensor;
}

// Not through the mapping: where the file is cut off meanwhile, or its server has lost it, that would be a fatal
// signal.
void SafetensorsFile::read_bytes(std::uint64_t begin, void* to, std::size_t count) const {
  read_at(*file_, path_, static_cast<std::uint64_t>(data_ - mapping_.get()) + begin, to, count);
}

void SafetensorsFile::read_elements(const SafetensorsEntry& entry, std::int64_t first, const at::Tensor& target) const {
  const auto element_size = static_cast<std::int64_t>(c10::elementSize(entry.dtype));
  assert(first >= 0 && (first + target.numel()) * element_size <= static_cast<std::int64_t>(entry.end - entry.begin));
  if (target.numel() == 0) return;
  std::uint64_t begin = entry.begin + static_cast<std::uint64_t>(first * element_size);
  for (at::Tensor& piece : tensor_pieces(target)) {
    const bool in_place =
        piece.is_cpu() && piece.is_contiguous() && piece.scalar_type() == entry.dtype && entry.dtype != at::kBool;
    const at::Tensor values = in_place ? piece : at::empty(piece.sizes(), stored_type(entry));
    read_bytes(begin, values.data_ptr(), values.nbytes());
    begin += values.nbytes();
    if (!in_place) piece.copy_(entry.dtype == at::kBool ? values.ne(0) : values);
  }
}

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata, const FillElements& fill,
                       const CompleteFile& complete) {
  refuse_unusable_names(tensors, path);
  const std::vector<NamedTensor> order = in_order(tensors);
  write_file(path, format_header(order, metadata), order, fill, complete);
}

void write_elements(const std::filesystem::path& path, const std::vector<TensorPart>& parts) {
  const PlacedFile file(path, O_RDWR);
  const auto [header, data] = file.header();
  std::map<std::string_view, const SafetensorsEntry*> by_name;
  for (const SafetensorsEntry& entry : header.entries) by_name[entry.name] = &entry;
  for (const auto& [name, first, values] : parts) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) continue;
    const SafetensorsEntry& entry = *found->second;
    assert(entry.dtype == values.scalar_type() && values.is_contiguous());
    file.write(data + entry.begin + static_cast<std::uint64_t>(first * values.element_size()), values.const_data_ptr(),
               values.nbytes());
  }
  file.flush();
}

void write_safetensors_like(const std::filesystem::path& path, const SafetensorsFile& source,
                            const std::vector<NamedTensor>& tensors, const FillElements& fill,
                            const CompleteFile& complete) {
  const auto [header, order] = laid_out_like(source, tensors);
  write_file(path, header, order, fill, complete);
}

void rewrite_safetensors(const std::filesystem::path& path, const SafetensorsFile& source,
                         const std::function<at::Tensor(const std::string&, const at::Tensor&)>& change) {
  AtomicFile file(path);
  write_header(file, source.header_text());
  for (const SafetensorsEntry& entry : source.entries()) {
    const auto values = at::empty(entry.shape, entry.dtype);
    source.read_elements(entry, 0, values);
    const auto changed = change(entry.name, values);
    assert(changed.sizes() == values.sizes() && changed.scalar_type() == entry.dtype);
    write_tensor(file, {entry.name, changed}, {});
  }
  file.commit();
}

}  // namespace drift
