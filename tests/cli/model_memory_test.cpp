// The program opens a checkpoint of the published proportions and runs it, within its size and a gibibyte of memory.

#include <core/io/safetensors.h>
#include <tests/support/program.h>
#include <tests/support/sparse_checkpoint.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <sys/resource.h>

namespace drift::model_memory_test {

using namespace test;
using namespace testing;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// The 8 B-parameter LLaDA with 6 of its 32 layers: 2.3 B parameters, 4.7 GB.
constexpr std::int64_t kLayers = 6, kWidth = 4096, kInner = 12288, kVocabulary = 126464;

std::string config_json() {
  auto config = nlohmann::json::parse(read_file(source_dir() / "tests/golden/data/ckpt/llada_a/config.json"));
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

std::vector<SparseTensor> tensors() {
  const std::string transformer = "model.transformer.";
  std::vector<SparseTensor> list{{transformer + "wte.weight", {kVocabulary, kWidth}},
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

/// What `model verify` of the wide model holds at its peak, in bytes, if `most` and two gibibytes are free. Weights of
/// zero give logits of zero.
std::optional<std::int64_t> peak_of_opening(const ProgramFolder& folder, const std::string& options,
                                            std::int64_t most) {
  if (counted_bytes("/proc/meminfo", "MemAvailable") < most + 2 * kGiB) return std::nullopt;
  write_safetensors(folder.path("reference.safetensors"),
                    {{"input_ids", at::arange(4, at::kLong).view({1, 4})}, {"logits", at::zeros({1, 4, kVocabulary})}});
  EXPECT_THAT(folder.drift("model verify checkpoint --reference reference.safetensors --dtype bfloat16 --tolerance 0" +
                           options),
              prints());
  rusage usage{};  // of the largest process that ended so far
  EXPECT_EQ(::getrusage(RUSAGE_CHILDREN, &usage), 0);
  const std::int64_t peak = usage.ru_maxrss * 1024;
  std::cout << "opened " << folder_bytes(folder.path("checkpoint")) / 1e9 << " GB; most memory held " << peak / 1e9
            << " GB\n";
  return peak;
}

constexpr const char* kNoMemory = "too little memory is free";

// Before the other one: the peak is that of the largest so far.
TEST(ModelMemory, WithBlocksInFourBitsTheWideModelIsNeverInMemory) {
  const ProgramFolder folder;
  write_sparse_checkpoint(folder.path("checkpoint"), config_json(), tensors(), 3);
  const std::int64_t tables = 2 * 2 * kVocabulary * kWidth;  // embedding and head stay bfloat16
  const std::int64_t packed = (folder_bytes(folder.path("checkpoint")) - tables) / 16 * 42 / 10;
  const auto peak = peak_of_opening(folder, " --set model.quantize=nf4", tables + packed);
  if (!peak) GTEST_SKIP() << kNoMemory;
  EXPECT_GT(*peak, tables + packed);
  EXPECT_LT(*peak, tables + packed + kGiB * 3 / 4);
}

TEST(ModelMemory, AnOpenModelTakesItsFoldersSizeAndAtMostAGibibyteMore) {
  const ProgramFolder folder;
  write_sparse_checkpoint(folder.path("checkpoint"), config_json(), tensors(), 3);
  const std::int64_t size = folder_bytes(folder.path("checkpoint"));
  ASSERT_GT(size, 4 * kGiB);
  const auto peak = peak_of_opening(folder, "", size);
  if (!peak) GTEST_SKIP() << kNoMemory;
  EXPECT_GT(*peak, size) << "the weights themselves are not counted: is something wrong with the measurement?";
  EXPECT_LT(*peak, size + kGiB);
}

}  // namespace drift::model_memory_test
