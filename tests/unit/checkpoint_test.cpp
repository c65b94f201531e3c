#include <core/io/checkpoint.h>

#include <core/io/safetensors.h>

#include <drift/error.h>
#include <tests/support/support.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <functional>

namespace drift {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kConfig = "{\n  \"model_type\": \"tiny\", \"d_model\": 4\n}\n";

std::vector<NamedTensor> weights() {
  return {{"head.weight", at::arange(12).to(at::kFloat).view({3, 4})}, {"norm.weight", at::full({4}, 0.25)}};
}

std::vector<NamedTensor> blank(at::ScalarType dtype = at::kFloat) {
  std::vector<NamedTensor> tensors{{"head.weight", at::zeros({3, 4}, dtype)}, {"norm.weight", at::zeros({4}, dtype)}};
  for (NamedTensor& tensor : tensors) tensor.tensor.requires_grad_(true);
  return tensors;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

class Checkpoint : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  // The same weights in two shards.
  fs::path sharded() {
    const fs::path folder = path("sharded");
    write_file(folder / "config.json", kConfig);
    write_safetensors(folder / "model-00001-of-00002.safetensors", {weights()[1]});
    write_safetensors(folder / "model-00002-of-00002.safetensors", {weights()[0]});
    write_file(folder / "model.safetensors.index.json",
               R"({"metadata":{"total_size":64},"weight_map":{"head.weight":"model-00002-of-00002.safetensors",)"
               R"("norm.weight":"model-00001-of-00002.safetensors"}})");
    return folder;
  }

  TemporaryFolder folder_;
};

void expect_weights(const std::vector<NamedTensor>& tensors) {
  const auto expected = weights();
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(at::equal(tensors[i].tensor.detach().to(at::kFloat), expected[i].tensor));
}

TEST_F(Checkpoint, WhatIsSavedIsLoadedIntoTheModelsOwnTensors) {
  save_checkpoint_folder(path("a"), weights(), kConfig);
  auto model = blank();
  const void* storage = model[0].tensor.const_data_ptr();
  load_parameters(path("a"), model);
  expect_weights(model);
  EXPECT_EQ(model[0].tensor.const_data_ptr(), storage);
  EXPECT_TRUE(model[0].tensor.requires_grad());
  EXPECT_EQ(read_config_json(path("a")), kConfig);
}

TEST_F(Checkpoint, SavingUnchangedWeightsAgainGivesTheSameBytes) {
  save_checkpoint_folder(path("a"), weights(), kConfig);
  auto model = blank();
  load_parameters(path("a"), model);
  save_checkpoint_folder(path("b"), model, read_config_json(path("a")), path("a"));
  EXPECT_EQ(read_file(path("a") / "model.safetensors"), read_file(path("b") / "model.safetensors"));
  EXPECT_EQ(read_file(path("a") / "config.json"), read_file(path("b") / "config.json"));
}

TEST_F(Checkpoint, FloatingPointTypesAreConverted) {
  save_checkpoint_folder(path("a"), weights(), kConfig);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf, at::kDouble}) {
    auto model = blank(dtype);
    load_parameters(path("a"), model);
    EXPECT_EQ(model[0].tensor.scalar_type(), dtype);
    expect_weights(model);
  }
}

TEST_F(Checkpoint, ShardsAreFoundThroughTheIndex) {
  auto model = blank();
  load_parameters(sharded(), model);
  expect_weights(model);
}

TEST_F(Checkpoint, EveryMisfitIsListedAndNothingIsLoaded) {
  save_checkpoint_folder(path("a"),
                         {{"head.weight", at::full({4, 3}, 7.0)},
                          {"bias", at::zeros({2})},
                          {"ids", at::zeros({2}, at::kLong)},
                          {"good", at::full({1}, 7.0)}},
                         kConfig);
  std::vector<NamedTensor> model = blank();
  model.push_back({"ids", at::zeros({2})});
  model.push_back({"good", at::zeros({1})});
  const std::string message = error_of([&] { load_parameters(path("a"), model); });
  EXPECT_THAT(message, HasSubstr("(4 problems)"));
  EXPECT_THAT(message, HasSubstr("missing: `norm.weight` [4]"));
  EXPECT_THAT(message, HasSubstr("surplus: `bias` [2]"));
  EXPECT_THAT(message, HasSubstr("shape: `head.weight` is [4, 3] in the checkpoint, the model has [3, 4]"));
  EXPECT_THAT(message, HasSubstr("type: `ids` is I64 in the checkpoint, the model has F32"));
  for (const NamedTensor& tensor : model)
    EXPECT_EQ(tensor.tensor.detach().abs().sum().item<double>(), 0) << tensor.name;
}

TEST_F(Checkpoint, AnIndexThatLiesIsRefused) {
  const fs::path folder = sharded();
  auto model = blank();
  const auto load = [&] { load_parameters(folder, model); };
  const auto index = [&](const std::string& text) { write_file(folder / "model.safetensors.index.json", text); };

  index(R"({"weight_map":{"head.weight":"model-00001-of-00002.safetensors",)"
        R"("norm.weight":"model-00001-of-00002.safetensors"}})");
  EXPECT_THAT(error_of(load), HasSubstr("`head.weight` is not in `model-00001-of-00002.safetensors`"));
  index(R"({"weight_map":{"head.weight":"../secret","norm.weight":"model-00001-of-00002.safetensors"}})");
  EXPECT_THAT(error_of(load), HasSubstr("file in the same folder"));
  index(R"({"weight_map":{"head.weight":"gone.safetensors"}})");
  EXPECT_THAT(error_of(load), HasSubstr("gone.safetensors: No such file"));
  index(R"({"weight_map":[]})");
  EXPECT_THAT(error_of(load), HasSubstr("weight_map"));
  index(std::string(1'000'000, '['));
  EXPECT_THAT(error_of(load), HasSubstr("nested deeper than 64"));
}

TEST_F(Checkpoint, ASummaryCountsTensorsParametersAndBytesPerTypeAndFile) {
  const fs::path folder = sharded();
  write_safetensors(folder / "model-00001-of-00002.safetensors",
                    {{"norm.weight", at::zeros({4}, at::kBFloat16)}, {"ids", at::zeros({3}, at::kLong)}});
  write_file(folder / "model.safetensors.index.json",
             R"({"weight_map":{"head.weight":"model-00002-of-00002.safetensors",)"
             R"("norm.weight":"model-00001-of-00002.safetensors","ids":"model-00001-of-00002.safetensors"}})");
  const CheckpointSummary summary = summarize_checkpoint(folder);
  EXPECT_EQ(summary.total.tensors, 3);
  EXPECT_EQ(summary.total.parameters, 12 + 4 + 3);
  EXPECT_EQ(summary.total.bytes, 12 * 4 + 4 * 2 + 3 * 8);
  ASSERT_EQ(summary.types.size(), 3U);
  EXPECT_EQ(summary.types[0].dtype, at::kFloat);
  EXPECT_EQ(summary.types[1].dtype, at::kLong);
  EXPECT_EQ(summary.types[2].dtype, at::kBFloat16);
  EXPECT_EQ(summary.types[2].total.parameters, 4);
  ASSERT_EQ(summary.files.size(), 2U);
  EXPECT_EQ(summary.files[0].name, "model-00001-of-00002.safetensors");
  EXPECT_EQ(summary.files[0].total.bytes, 4 * 2 + 3 * 8);

  write_file(folder / "model.safetensors.index.json",
             R"({"weight_map":{"norm.weight":"model-00002-of-00002.safetensors"}})");
  EXPECT_THAT(error_of([&] { summarize_checkpoint(folder); }), HasSubstr("contradict their index"));
}

TEST_F(Checkpoint, DeepNestingIsRefusedBeforeAnythingWorksThroughIt) {
  const std::string deep = "{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  write_file(path("a") / "config.json", deep);
  EXPECT_THAT(error_of([&] { read_config_json(path("a")); }), HasSubstr("nested deeper than 64"));
  const fs::path folder = sharded();
  write_file(folder / "model.safetensors.index.json", "{\"weight_map\":" + deep + "}");
  auto model = blank();
  EXPECT_THAT(error_of([&] { load_parameters(folder, model); }), HasSubstr("nested deeper than 64"));
}

TEST_F(Checkpoint, MissingPartsAreNamed) {
  auto model = blank();
  EXPECT_THAT(error_of([&] { load_parameters(path("nowhere"), model); }), HasSubstr("there is no checkpoint folder"));
  EXPECT_THAT(error_of([&] { read_config_json(path("nowhere")); }), HasSubstr("there is no checkpoint folder"));
  fs::create_directory(path("empty"));
  EXPECT_THAT(error_of([&] { load_parameters(path("empty"), model); }), HasSubstr("neither model.safetensors nor"));
  EXPECT_THAT(error_of([&] { read_config_json(path("empty")); }), HasSubstr("config.json: No such file"));
  write_file(path("empty") / "config.json", "{\"a\": ");
  EXPECT_THAT(error_of([&] { read_config_json(path("empty")); }), HasSubstr("config.json is not a JSON object"));
}

TEST_F(Checkpoint, TheOtherFilesOfTheSourceAreCarriedAlong) {
  const fs::path source = sharded();
  write_file(source / "tokenizer.json", "{}");
  write_file(source / "notes.md", std::string("a\0b", 3));
  write_file(source / "pytorch_model.bin", "weights");
  write_file(source / ".hidden", "no");
  write_file(source / "training_state.json", "{}");
  write_file(source / "folder" / "file", "no");
  fs::create_symlink("tokenizer.json", source / "link.json");
  save_checkpoint_folder(path("copy"), weights(), kConfig, source);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(path("copy"))) names.insert(entry.path().filename());
  EXPECT_THAT(names,
              ::testing::ElementsAre("config.json", "link.json", "model.safetensors", "notes.md", "tokenizer.json"));
  EXPECT_EQ(read_file(path("copy") / "notes.md"), std::string("a\0b", 3));
  EXPECT_EQ(read_file(path("copy") / "link.json"), "{}");
}

TEST_F(Checkpoint, AFolderInUseIsNotOverwritten) {
  write_file(path("mine") / "thesis.txt", "precious");
  EXPECT_THAT(error_of([&] { save_checkpoint_folder(path("mine"), weights(), kConfig); }), HasSubstr("not empty"));
  EXPECT_EQ(read_file(path("mine") / "thesis.txt"), "precious");
}

// Checkpoints written by other software, where the shared data are there.
class ForeignCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(ForeignCheckpoint, LoadsAndRoundTripsTensorByTensor) {
  const fs::path folder = test::shared_dir() / "data/golden/ckpt" / GetParam();
  if (test::shared_dir().empty() || !fs::exists(folder)) GTEST_SKIP() << "the shared data are not here";
  std::vector<NamedTensor> model;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file(entry.path());
    for (const SafetensorsEntry& tensor : file.entries()) {
      model.push_back({tensor.name, at::zeros(tensor.shape, at::TensorOptions().dtype(tensor.dtype))});
    }
  }
  ASSERT_GT(model.size(), 10U);
  load_parameters(folder, model);
  const TemporaryFolder out;
  save_checkpoint_folder(out.path() / "copy", model, read_config_json(folder), folder);
  EXPECT_TRUE(fs::exists(out.path() / "copy/generation_config.json"));
  const SafetensorsFile copy(out.path() / "copy/model.safetensors");
  EXPECT_EQ(copy.entries().size(), model.size());
  for (const NamedTensor& tensor : model)
    EXPECT_TRUE(at::equal(copy.tensor(tensor.name), tensor.tensor)) << tensor.name;
  // A single file is the same to the last byte: the layout is the format's own.
  if (fs::exists(folder / "model.safetensors")) {
    EXPECT_TRUE(read_file(folder / "model.safetensors") == read_file(out.path() / "copy/model.safetensors"));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ForeignCheckpoint,
                         ::testing::Values("llada_a", "llada_a_bf16", "dream_a", "dream_a_bf16", "dream_pad"));

}  // namespace
}  // namespace drift
