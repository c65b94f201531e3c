#pragma once

#include <core/base/descriptor.h>
#include <core/io/safetensors_header.h>

#include <drift/model.h>

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A safetensors file, opened for reading. The file is mapped into memory: opening reads only its header, and a
/// tensor's pages are read when they are used.
class SafetensorsFile {
 public:
  /// @throws Error naming the file, the tensor and what was expected, if the file cannot be read or breaks the format
  /// in any way. Supported types: BOOL, U8, F16, BF16, I32, F32, F64, I64.
  explicit SafetensorsFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// In their order in the file.
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  /// Null if there is none.
  const SafetensorsEntry* find(std::string_view name) const;

  /// A tensor on the CPU that shares the mapped memory, which it keeps alive. Writing to it never reaches the file.
  /// @throws Error if there is none of this name.
  at::Tensor tensor(std::string_view name) const;

  /// Fill `target` (any type, device and stride) with as many elements as it has, the first being `first` in the
  /// row-major order of the entry; converts between types. Several threads may do it concurrently.
  /// @throws Error if the file cannot be read any more
  void read_elements(const SafetensorsEntry& entry, std::int64_t first, const at::Tensor& target) const;

  /// The header's JSON with its padding, as it is in the file.
  std::string_view header_text() const { return header_text_; }

 private:
  /// @param begin  counted from the first byte behind the header
  void read_bytes(std::uint64_t begin, void* to, std::size_t count) const;

  std::filesystem::path path_;
  SafetensorsHeader header_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::shared_ptr<const Descriptor> file_;
  std::shared_ptr<char> mapping_;
  std::string_view header_text_;  ///< within the mapping
  char* data_ = nullptr;          ///< first byte behind the header
};

/// The piece that a thread reads or writes at a time: long enough for a disk, short enough for memory.
inline constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;

/// A tensor in pieces of at most kPieceBytes that share its memory and follow each other in row-major order: runs of
/// elements if it is contiguous, else runs of rows of its first dimension (at least one row).
std::vector<at::Tensor> tensor_pieces(const at::Tensor& tensor);

/// Gives the values of a tensor on the meta device while it is written: elements [first, first + target.numel()), in
/// row-major order. So a file may be larger than memory.
using FillElements = std::function<void(const NamedTensor& tensor, std::int64_t first, const at::Tensor& target)>;

/// Some elements of a tensor, from `first` on in row-major order, of which other processes have the others.
struct TensorPart {
  std::string name;
  std::int64_t first = 0;
  at::Tensor values;  ///< of the tensor's type; plain memory of the CPU
};

/// Brings the values of tensors on the meta device into a file that has room for them, where several processes have
/// them: each of these calls write_elements().
using CompleteFile = std::function<void(const std::filesystem::path& file)>;

/// Write elements into such a file, until they are on disk; parts of tensors that it does not hold are passed over.
/// Several processes may do it at the same time.
void write_elements(const std::filesystem::path& path, const std::vector<TensorPart>& parts);

/// What other programs expect.
inline const std::map<std::string, std::string> kPlainMetadata{{"format", "pt"}};

/// Write tensors so that the same names and values always give the same bytes: those that the format's own library
/// writes. Tensors may be of any device and stride; what is not plain CPU memory is copied piece by piece. Those on the
/// meta device have the values that `fill` gives, or `complete` brings. Atomic, but for what `complete` brings.
/// @throws Error if two tensors have one name, a type is not supported or, with `complete`, the disk has no room for
/// all of it; without `complete` the old file is intact.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = kPlainMetadata,
                       const FillElements& fill = {}, const CompleteFile& complete = {});

/// Write the tensors that `source` holds, in its order and with its metadata. Where no type differs its header is
/// repeated unchanged, so that unchanged values give the same file to the last byte.
/// @param tensors  has each of the source's names, with the same shape; others are passed over
void write_safetensors_like(const std::filesystem::path& path, const SafetensorsFile& source,
                            const std::vector<NamedTensor>& tensors, const FillElements& fill = {},
                            const CompleteFile& complete = {});

/// Write `source` again with its tensors changed, one at a time: change(name, tensor) gives values of the same shape
/// and type.
void rewrite_safetensors(const std::filesystem::path& path, const SafetensorsFile& source,
                         const std::function<at::Tensor(const std::string&, const at::Tensor&)>& change);

}  // namespace drift
