// The program opens a checkpoint of the published proportions and runs it, within its size and a gibibyte of memory.

#include <core/io/safetensors.h>
#include <tests/support/sparse_checkpoint.h>
#include <tests/support/support.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <iostream>

namespace drift::model_memory_test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// The 8 B-parameter LLaDA with 6 of its 32 layers: 2.3 B parameters, 4.7 GB.
constexpr std::int64_t kLayers = 6, kWidth = 4096, kInner = 12288, kVocabulary = 126464;

std::string config_json() {
  auto config =
      nlohmann::json::parse(test::read_file(test::source_dir() / "tests/golden/data/ckpt/llada_a/config.json"));
  config.update({{"n_layers", kLayers},
                 {"d_model", kWidth},
                 {"n_heads", 32},
                 {"n_kv_heads", 32},
                 {"mlp_hidden_size", kInner},
                 {"vocab_size", kVocabulary},
                 {"embedding_size", kVocabulary},
                 {"mask_token_id", 126336},
                 {"eos_token_id", 126081},
                 {"pad_token_id", 126081}});
  return config.dump(2);
}

std::vector<test::SparseTensor> tensors() {
  const std::string transformer = "model.transformer.";
  std::vector<test::SparseTensor> list{{transformer + "wte.weight", {kVocabulary, kWidth}},
                                       {transformer + "ln_f.weight", {kWidth}},
                                       {transformer + "ff_out.weight", {kVocabulary, kWidth}}};
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string block = transformer + "blocks." + std::to_string(layer) + ".";
    for (const char* norm : {"attn_norm", "ff_norm"}) list.push_back({block + norm + ".weight", {kWidth}});
    for (const char* product : {"q_proj", "k_proj", "v_proj", "attn_out"})
      list.push_back({block + product + ".weight", {kWidth, kWidth}});
    for (const char* product : {"ff_proj", "up_proj"}) list.push_back({block + product + ".weight", {kInner, kWidth}});
    list.push_back({block + "ff_out.weight", {kWidth, kInner}});
  }
  return list;
}

/// Peak of the largest process that ended so far, in bytes.
std::int64_t peak_of_children() {
  rusage usage{};
  EXPECT_EQ(::getrusage(RUSAGE_CHILDREN, &usage), 0);
  return usage.ru_maxrss * 1024;
}

// Before the other one: the peak is that of the largest so far.
TEST(ModelMemory, WithBlocksInFourBitsTheWideModelIsNeverInMemory) {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "checkpoint";
  test::write_sparse_checkpoint(folder, config_json(), tensors(), 3);
  const std::int64_t tables = 2 * 2 * kVocabulary * kWidth;  // embedding and head stay bfloat16
  const std::int64_t packed = (test::folder_bytes(folder) - tables) / 16 * 42 / 10;
  const std::int64_t available = test::counted_bytes("/proc/meminfo", "MemAvailable");
  if (available < tables + packed + 2 * kGiB) GTEST_SKIP() << "only " << available / 1e9 << " GB of memory are free";

  const fs::path reference = temporary.path() / "reference.safetensors";
  write_safetensors(reference,
                    {{"input_ids", at::arange(4, at::kLong).view({1, 4})}, {"logits", at::zeros({1, 4, kVocabulary})}});
  const auto result =
      test::run_command(test::program().string() + " model verify " + folder.string() + " --reference " +
                        reference.string() + " --dtype bfloat16 --set model.quantize=nf4 --tolerance 0");
  EXPECT_EQ(result.status, 0) << result.output << result.error;
  const std::int64_t peak = peak_of_children();
  std::cout << "opened " << test::folder_bytes(folder) / 1e9 << " GB; most memory held " << peak / 1e9 << " GB\n";
  EXPECT_GT(peak, tables + packed);
  EXPECT_LT(peak, tables + packed + kGiB * 3 / 4);
}

TEST(ModelMemory, AnOpenModelTakesItsFoldersSizeAndAtMostAGibibyteMore) {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "checkpoint";
  test::write_sparse_checkpoint(folder, config_json(), tensors(), 3);
  const std::int64_t size = test::folder_bytes(folder);
  ASSERT_GT(size, 4 * kGiB);
  const std::int64_t available = test::counted_bytes("/proc/meminfo", "MemAvailable");
  if (available < size + 2 * kGiB) GTEST_SKIP() << "only " << available / 1e9 << " GB of memory are free";

  // Weights of zero give logits of zero.
  const fs::path reference = temporary.path() / "reference.safetensors";
  write_safetensors(reference,
                    {{"input_ids", at::arange(4, at::kLong).view({1, 4})}, {"logits", at::zeros({1, 4, kVocabulary})}});
  const auto result = test::run_command(test::program().string() + " model verify " + folder.string() +
                                        " --reference " + reference.string() + " --dtype bfloat16 --tolerance 0");
  EXPECT_EQ(result.status, 0) << result.output << result.error;
  const std::int64_t peak = peak_of_children();
  std::cout << "opened " << size / 1e9 << " GB; most memory held " << peak / 1e9 << " GB\n";
  EXPECT_GT(peak, size) << "the weights themselves are not counted: is something wrong with the measurement?";
  EXPECT_LT(peak, size + kGiB);
}

}  // namespace
}  // namespace drift::model_memory_test
