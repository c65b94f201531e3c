// What opening and saving take in memory. The checkpoint that is opened has the size of real ones.

#include <core/io/checkpoint.h>
#include <core/io/safetensors.h>

#include <tests/support/sparse_checkpoint.h>
#include <tests/support/support.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <fstream>
#include <iostream>

namespace drift::checkpoint_memory_test {
namespace {

namespace fs = std::filesystem;
using test::counted_bytes;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::size_t kTensors = 36, kShards = 3;
constexpr std::int64_t kRows = 14'800, kColumns = 4096;  // of bfloat16: 121 MB a tensor, 4.4 GB in all

std::string tensor_name(std::size_t i) { return "layer." + std::to_string(i) + ".weight"; }

// The last value of each tensor; all others are zero.
std::uint16_t mark(std::size_t i) { return static_cast<std::uint16_t>(0x4000 + i); }

void mark_ends(const fs::path& folder) {
  for (const auto& shard : fs::directory_iterator(folder)) {
    if (shard.path().extension() != ".safetensors") continue;
    const SafetensorsFile file(shard.path());
    std::fstream bytes(shard.path(), std::ios::binary | std::ios::in | std::ios::out);
    for (std::size_t i = 0; i < kTensors; ++i) {
      const SafetensorsEntry* entry = file.find(tensor_name(i));
      if (entry == nullptr) continue;
      const std::uint16_t value = mark(i);
      bytes.seekp(static_cast<std::streamoff>(8 + file.header_text().size() + entry->end - 2));
      bytes.write(reinterpret_cast<const char*>(&value), 2);
    }
    ASSERT_TRUE(bytes.flush()) << shard.path();
  }
}

// The peak memory of this process, including pages of mapped files.
std::int64_t peak_memory() { return counted_bytes("/proc/self/status", "VmHWM"); }

TEST(CheckpointMemory, OpeningTakesTheFoldersSizeAndAtMostAGibibyteMore) {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "checkpoint";
  std::vector<test::SparseTensor> tensors;
  for (std::size_t i = 0; i < kTensors; ++i) tensors.push_back({tensor_name(i), {kRows, kColumns}});
  test::write_sparse_checkpoint(folder, "{}", tensors, kShards);
  mark_ends(folder);
  const std::int64_t size = test::folder_bytes(folder);
  ASSERT_GT(size, 4 * kGiB);
  const std::int64_t available = counted_bytes("/proc/meminfo", "MemAvailable");
  if (available < size + 2 * kGiB) GTEST_SKIP() << "only " << available / 1e9 << " GB of memory are free";

  std::vector<NamedTensor> parameters;
  for (const auto& [name, shape] : tensors) parameters.push_back({name, at::empty(shape, at::kBFloat16)});
  load_parameters(folder, parameters);
  const std::int64_t peak = peak_memory();
  std::cout << "opened " << size / 1e9 << " GB; most memory held " << peak / 1e9 << " GB\n";
  EXPECT_GT(peak, size) << "the parameters themselves are not counted: is something wrong with the measurement?";
  EXPECT_LT(peak, size + kGiB);
  for (std::size_t i = 0; i < kTensors; ++i) {
    const auto* values = static_cast<const std::uint16_t*>(parameters[i].tensor.const_data_ptr());
    EXPECT_EQ(values[0], 0) << parameters[i].name;
    EXPECT_EQ(values[kRows * kColumns - 1], mark(i)) << parameters[i].name;
  }
}

TEST(CheckpointMemory, SavingHoldsNoCopyOfTheWeights) {
  const test::TemporaryFolder folder;
  constexpr std::int64_t kBytes = std::int64_t{256} << 20;
  const at::Tensor plain = at::ones({kBytes / 4 / 1024, 1024});
  const at::Tensor strided = at::ones({1024, kBytes / 4 / 1024}).t();
  std::ofstream("/proc/self/clear_refs") << 5;  // restarts the measurement of the peak
  const std::int64_t before = counted_bytes("/proc/self/status", "VmRSS");
  save_checkpoint_folder(folder.path() / "saved", {{"plain", plain}, {"strided", strided}}, "{}");
  EXPECT_LT(peak_memory(), before + kBytes / 8);
  EXPECT_EQ(summarize_checkpoint(folder.path() / "saved").total.bytes, 2 * kBytes);
}

}  // namespace
}  // namespace drift::checkpoint_memory_test
