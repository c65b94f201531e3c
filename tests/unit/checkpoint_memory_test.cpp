// What opening and saving take in memory. The checkpoint that is opened has the size of real ones; its files are sparse
// and take next to no space, but every page is read all the same.

#include <core/io/checkpoint.h>
#include <core/io/checkpoint_weights.h>
#include <core/io/safetensors_header.h>

#include <tests/support/support.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kShards = 3;
constexpr std::int64_t kTensorsPerShard = 12;
constexpr std::int64_t kRows = 14'800;  // with 4096 columns of bfloat16: 121 MB a tensor, 4.4 GB in all
constexpr std::int64_t kColumns = 4096;

std::string tensor_name(std::int64_t shard, std::int64_t i) {
  return "layer." + std::to_string(i * kShards + shard) + ".weight";
}

// The bfloat16 at the end of each tensor, where all else is zero: small whole numbers.
std::uint16_t mark(std::int64_t shard, std::int64_t i) { return static_cast<std::uint16_t>(0x4000 + i * 8 + shard); }

void write_sparse_shard(const fs::path& path, std::int64_t shard) {
  SafetensorsHeader header;
  const std::uint64_t bytes = kRows * kColumns * 2;
  for (std::int64_t i = 0; i < kTensorsPerShard; ++i) {
    const auto begin = static_cast<std::uint64_t>(i) * bytes;
    header.entries.push_back({tensor_name(shard, i), at::kBFloat16, {kRows, kColumns}, begin, begin + bytes});
  }
  const std::string text = format_safetensors_header(header);
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t length = text.size();
  file.write(reinterpret_cast<const char*>(&length), 8);
  file << text;
  for (std::int64_t i = 0; i < kTensorsPerShard; ++i) {
    const std::uint16_t value = mark(shard, i);
    file.seekp(static_cast<std::streamoff>(8 + text.size() + header.entries[i].end - 2));
    file.write(reinterpret_cast<const char*>(&value), 2);
  }
  ASSERT_TRUE(file.flush()) << path;
}

void write_sparse_checkpoint(const fs::path& folder) {
  nlohmann::json index = {{"metadata", {{"total_size", kShards * kTensorsPerShard * kRows * kColumns * 2}}}};
  for (std::int64_t shard = 0; shard < kShards; ++shard) {
    const std::string name = "model-0000" + std::to_string(shard + 1) + "-of-00003.safetensors";
    write_sparse_shard(folder / name, shard);
    for (std::int64_t i = 0; i < kTensorsPerShard; ++i) index["weight_map"][tensor_name(shard, i)] = name;
  }
  test::write_file(folder / kWeightIndexFile, index.dump(2));
  test::write_file(folder / "config.json", "{}");
}

std::int64_t folder_bytes(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  return static_cast<std::int64_t>(bytes);
}

// A line of a file below /proc that counts kilobytes, in bytes.
std::int64_t counted(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return -1;
}

// The most memory that this process has held at once, pages of mapped files among it.
std::int64_t peak_memory() { return counted("/proc/self/status", "VmHWM"); }

std::vector<NamedTensor> model() {
  std::vector<NamedTensor> tensors;
  for (std::int64_t shard = 0; shard < kShards; ++shard) {
    for (std::int64_t i = 0; i < kTensorsPerShard; ++i) {
      tensors.push_back({tensor_name(shard, i), at::empty({kRows, kColumns}, at::kBFloat16)});
    }
  }
  return tensors;
}

TEST(CheckpointMemory, OpeningTakesTheFoldersSizeAndAtMostAGibibyteMore) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoint";
  fs::create_directory(path);
  write_sparse_checkpoint(path);
  const std::int64_t size = folder_bytes(path);
  ASSERT_GT(size, 4 * kGiB);
  const std::int64_t available = counted("/proc/meminfo", "MemAvailable");
  if (available < size + 2 * kGiB) GTEST_SKIP() << "only " << available / 1e9 << " GB of memory are free";

  const auto parameters = model();
  load_parameters(path, parameters);
  const std::int64_t peak = peak_memory();
  std::cout << "opened " << size / 1e9 << " GB; most memory held " << peak / 1e9 << " GB\n";
  EXPECT_GT(peak, size) << "the parameters themselves are not counted: is something wrong with the measurement?";
  EXPECT_LT(peak, size + kGiB);
  for (std::int64_t shard = 0; shard < kShards; ++shard) {
    for (std::int64_t i = 0; i < kTensorsPerShard; ++i) {
      const auto* values =
          static_cast<const std::uint16_t*>(parameters[shard * kTensorsPerShard + i].tensor.const_data_ptr());
      EXPECT_EQ(values[0], 0);
      EXPECT_EQ(values[kRows * kColumns - 1], mark(shard, i));
    }
  }
}

TEST(CheckpointMemory, SavingHoldsNoCopyOfTheWeights) {
  const test::TemporaryFolder folder;
  constexpr std::int64_t kBytes = std::int64_t{256} << 20;
  const at::Tensor plain = at::ones({kBytes / 4 / 1024, 1024});
  const at::Tensor strided = at::ones({1024, kBytes / 4 / 1024}).t();
  std::ofstream("/proc/self/clear_refs") << 5;  // from here on, the peak is counted anew
  const std::int64_t before = counted("/proc/self/status", "VmRSS");
  save_checkpoint_folder(folder.path() / "saved", {{"plain", plain}, {"strided", strided}}, "{}");
  EXPECT_LT(peak_memory(), before + kBytes / 8);
  EXPECT_EQ(summarize_checkpoint(folder.path() / "saved").total.bytes, 2 * kBytes);
}

}  // namespace
}  // namespace drift
