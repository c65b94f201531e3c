#pragma once

#include <core/io/safetensors_header.h>

#include <drift/model.h>

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A safetensors file, opened for reading. The file is mapped into memory: opening reads its header alone, and a
/// tensor's pages are read when they are used.
class SafetensorsFile {
 public:
  /// @throws Error naming the file, the tensor and what was expected, if the file cannot be read or breaks the format
  /// in any way. Supported types: BOOL, U8, F16, BF16, I32, F32, F64, I64.
  explicit SafetensorsFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// In the order in which they lie in the file.
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  /// Null if there is none.
  const SafetensorsEntry* find(std::string_view name) const;

  /// A tensor on the CPU that shares the mapped memory, which it keeps alive. Writing to it never reaches the file.
  /// @throws Error if there is none of this name.
  at::Tensor tensor(std::string_view name) const;

 private:
  std::filesystem::path path_;
  SafetensorsHeader header_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::shared_ptr<char> mapping_;
  char* data_ = nullptr;  ///< first byte behind the header
};

/// Write tensors so that the same names and values always give the same bytes: those that the format's own library
/// writes. Tensors may be of any device and stride; one at a time is copied where it is not plain CPU memory. Atomic.
/// @throws Error if two tensors have one name or a type is not supported; the old file is intact.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace drift
