#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// One tensor of a safetensors file.
struct SafetensorsEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< first byte, counted from the end of the header
  std::uint64_t end = 0;    ///< one past the last byte
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// Read the JSON of a header whose tensors fill `data_bytes` bytes. Every field is checked: the entries that come back
/// are sorted by position and fill the data without gap or overlap.
/// @param file  for messages
/// @throws Error naming the file, the tensor and what was expected, whatever the bytes are.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const std::string& file);

/// The header as the format's own library writes it, padded with blanks to a multiple of 8 bytes.
std::string format_safetensors_header(const SafetensorsHeader& header);

/// "F32" for at::kFloat, and so on. @throws Error if the format's part that is supported here has no such type.
std::string safetensors_dtype_name(at::ScalarType dtype);

/// "[2, 29]", for messages.
std::string shape_text(c10::IntArrayRef shape);

/// A type's place in the format's order of tensors within a file; larger comes first.
int safetensors_dtype_rank(at::ScalarType dtype);

}  // namespace drift
