#pragma once

#include "tests/support/support.h"

// Checkpoints as large as real ones that take next to no space on disk: all weights are zero, in files with holes. Who
// reads them still reads every page.

namespace drift::test {

struct SparseTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Write config.json, an index and `shards` files of bfloat16 zeros; a tensor's file is its number modulo `shards`.
void write_sparse_checkpoint(const std::filesystem::path& folder, const std::string& config_json,
                             const std::vector<SparseTensor>& tensors, std::size_t shards);

/// Bytes of the files directly within a folder, holes counted.
std::int64_t folder_bytes(const std::filesystem::path& folder);

/// A line of a file like /proc/meminfo or /proc/self/status that counts kilobytes, in bytes; -1 if there is none.
std::int64_t counted_bytes(const char* file, const std::string& key);

}  // namespace drift::test
