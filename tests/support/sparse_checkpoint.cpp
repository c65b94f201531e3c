#include "tests/support/sparse_checkpoint.h"

#include "tests/support/support.h"

#include <core/io/checkpoint_weights.h>

#include <array>
#include <cstdio>

namespace drift::test {
namespace {

namespace fs = std::filesystem;

// The header, then a hole of the data's size.
void write_shard(const fs::path& path, const SafetensorsHeader& header) {
  const std::string text = format_safetensors_header(header);
  const std::uint64_t length = text.size();
  write_file(path, std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text);
  const std::uint64_t data = header.entries.empty() ? 0 : header.entries.back().end;
  fs::resize_file(path, sizeof(length) + length + data);
}

std::string shard_name(std::size_t number, std::size_t count) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", number, count);
  return name.data();
}

}  // namespace

void write_sparse_checkpoint(const fs::path& folder, const std::string& config_json,
                             const std::vector<SparseTensor>& tensors, std::size_t shards) {
  std::vector<SafetensorsHeader> headers(shards);
  nlohmann::json index;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto& entries = headers[i % shards].entries;
    std::uint64_t bytes = 2;
    for (const std::int64_t size : tensors[i].shape) bytes *= static_cast<std::uint64_t>(size);
    const std::uint64_t begin = entries.empty() ? 0 : entries.back().end;
    entries.push_back({tensors[i].name, at::kBFloat16, tensors[i].shape, begin, begin + bytes});
    index["weight_map"][tensors[i].name] = shard_name(i % shards + 1, shards);
  }
  for (std::size_t i = 0; i < shards; ++i) write_shard(folder / shard_name(i + 1, shards), headers[i]);
  write_file(folder / kWeightIndexFile, index.dump(2));
  write_file(folder / "config.json", config_json);
}

std::int64_t folder_bytes(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  return static_cast<std::int64_t>(bytes);
}

std::int64_t counted_bytes(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return -1;
}

}  // namespace drift::test
