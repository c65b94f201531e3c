#include "tests/support/tensors.h"

#include <core/io/checkpoint.h>

#include <core/io/safetensors.h>

#include <drift/error.h>
#include <tests/support/support.h>

#include <cstring>

namespace drift::checkpoint_test {

namespace fs = std::filesystem;
using test::error_of;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using namespace testing;

constexpr const char* kConfig = "{\n  \"model_type\": \"tiny\", \"d_model\": 4\n}\n";

std::vector<NamedTensor> weights() {
  return {{"head.weight", at::arange(12).to(at::kFloat).view({3, 4})}, {"norm.weight", at::full({4}, 0.25)}};
}

std::vector<NamedTensor> blank(at::ScalarType dtype = at::kFloat) {
  std::vector<NamedTensor> tensors{{"head.weight", at::zeros({3, 4}, dtype)}, {"norm.weight", at::zeros({4}, dtype)}};
  for (NamedTensor& tensor : tensors) tensor.tensor.requires_grad_(true);
  return tensors;
}

void expect_same_files(const fs::path& expected, const fs::path& found) {
  std::set<std::string> names = test::names_in(expected);
  names.merge(test::names_in(found));
  EXPECT_GE(names.size(), 2U);
  for (const std::string& name : names) {
    ASSERT_TRUE(fs::exists(expected / name) && fs::exists(found / name)) << name << " is in one folder alone";
    EXPECT_TRUE(read_file(expected / name) == read_file(found / name)) << name << " differs";
  }
}

// A model of zeros with the names, shapes and types of a checkpoint, filled from it.
std::vector<NamedTensor> loaded(const fs::path& folder) {
  std::vector<NamedTensor> model;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file(entry.path());
    for (const SafetensorsEntry& tensor : file.entries()) {
      model.push_back({tensor.name, at::zeros(tensor.shape, at::TensorOptions().dtype(tensor.dtype))});
    }
  }
  load_parameters(folder, model);
  return model;
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

TEST_F(Checkpoint, ParametersOfAnyStrideAndTensorsOfManyPiecesAreFilled) {
  const std::int64_t rows = 3 * kPieceBytes / 4 / 256 + 1;  // of 256 float32: a few pieces, the last one short
  const at::Tensor values = at::arange(rows * 256, at::kFloat).view({rows, 256});
  save_checkpoint_folder(path("a"), {{"plain", values}, {"strided", values}, {"scalar", at::full({}, 7.0)}}, kConfig);
  const at::Tensor wide = at::zeros({256, 2 * rows}, at::kDouble);
  const at::Tensor strided = wide.t().narrow(0, 3, rows);
  const at::Tensor plain = at::zeros({rows, 256});
  const at::Tensor scalar = at::zeros({});
  load_parameters(path("a"), {{"plain", plain}, {"strided", strided}, {"scalar", scalar}});
  EXPECT_TRUE(at::equal(plain, values));
  EXPECT_TRUE(at::equal(strided, values.to(at::kDouble)));
  EXPECT_EQ(scalar.item<double>(), 7);
  EXPECT_EQ(wide.sum().item<double>(), strided.sum().item<double>()) << "something beside the parameter was written";

  save_checkpoint_folder(
      path("b"), {{"plain", plain}, {"strided", strided.to(at::kFloat).t().contiguous().t()}, {"scalar", scalar}},
      kConfig);
  EXPECT_TRUE(read_file(path("a") / "model.safetensors") == read_file(path("b") / "model.safetensors"));
}

TEST_F(Checkpoint, ShardsAreFoundThroughTheIndex) {
  auto model = blank();
  load_parameters(sharded(), model);
  expect_weights(model);
}

// transformers writes a tied head so where it does not know that it is tied.
TEST_F(Checkpoint, AMatrixThatIsStoredUnderASecondNameIsReadOnce) {
  auto stored = weights();
  stored.push_back({"tied.weight", weights()[0].tensor.clone()});
  save_checkpoint_folder(path("twice"), stored, kConfig);
  auto model = blank();
  load_parameters(path("twice"), model);
  expect_weights(model);
  save_checkpoint_folder(path("once"), weights(), kConfig, path("twice"));
  EXPECT_EQ(summarize_checkpoint(path("once")).total.tensors, 2);
  stored.back().tensor.data_ptr<float>()[3] += 1;
  save_checkpoint_folder(path("other"), stored, kConfig);
  EXPECT_THAT(error_of([&] { load_parameters(path("other"), model); }), HasSubstr("surplus: `tied.weight` [3, 4]"));
}

TEST_F(Checkpoint, LinksThatLeadNowhereAreSaidToDoSo) {
  const auto error = [&](const std::string& name) {
    fs::remove_all(path("sharded"));
    const fs::path folder = sharded();
    fs::remove(folder / name);
    fs::create_symlink("../../blobs/1a2b", folder / name);
    return error_of([&] {
      read_config_json(folder);
      summarize_checkpoint(folder);
    });
  };
  const std::string says = " is a link to ../../blobs/1a2b, which is not there";
  for (const char* name : {"model-00002-of-00002.safetensors", "model.safetensors.index.json", "config.json"})
    EXPECT_THAT(error(name), HasSubstr(name + says));
  fs::create_symlink("gone", path("link"));
  EXPECT_THAT(error_of([&] { read_config_json(path("link")); }), HasSubstr("link is a link to gone, which is not"));
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

TEST_F(Checkpoint, AWrongIndexIsRefused) {
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
  EXPECT_THAT(error_of(load), HasSubstr("names `gone.safetensors`, which is missing"));
  index(R"({"weight_map":[]})");
  EXPECT_THAT(error_of(load), HasSubstr("weight_map"));
  index(std::string(1'000'000, '['));
  EXPECT_THAT(error_of(load), HasSubstr("nested deeper than 64"));
}

TEST_F(Checkpoint, ASummaryCountsTensorsAndBytesPerType) {
  const fs::path folder = sharded();
  write_safetensors(folder / "model-00001-of-00002.safetensors",
                    {{"norm.weight", at::zeros({4}, at::kBFloat16)}, {"ids", at::zeros({3}, at::kLong)}});
  write_file(folder / "model.safetensors.index.json",
             R"({"weight_map":{"head.weight":"model-00002-of-00002.safetensors",)"
             R"("norm.weight":"model-00001-of-00002.safetensors","ids":"model-00001-of-00002.safetensors"}})");
  const CheckpointSummary summary = summarize_checkpoint(folder);
  EXPECT_EQ(summary.total.tensors, 3);
  EXPECT_EQ(summary.total.bytes, 12 * 4 + 4 * 2 + 3 * 8);
  ASSERT_EQ(summary.types.size(), 3U);
  EXPECT_EQ(summary.types[0].dtype, at::kFloat);
  EXPECT_EQ(summary.types[1].dtype, at::kLong);
  EXPECT_EQ(summary.types[2].dtype, at::kBFloat16);
  EXPECT_EQ(summary.types[2].total.bytes, 4 * 2);
  EXPECT_THAT(summary.files,
              testing::ElementsAre("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"));

  write_file(folder / "model.safetensors.index.json",
             R"({"weight_map":{"norm.weight":"model-00002-of-00002.safetensors"}})");
  EXPECT_THAT(error_of([&] { summarize_checkpoint(folder); }), HasSubstr("do not match their index"));
}

TEST_F(Checkpoint, ADeeplyNestedConfigurationIsRefusedBeforeAnythingWorksThroughIt) {
  const std::string deep = "{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  write_file(path("a") / "config.json", deep);
  EXPECT_THAT(error_of([&] { read_config_json(path("a")); }), HasSubstr("nested deeper than 64"));
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
  write_file(source / "README.md", "of the source alone");
  write_file(source / "training_state.json", "{}");
  write_file(source / "folder" / "file", "no");
  fs::create_symlink("tokenizer.json", source / "link.json");
  fs::create_symlink("nowhere", source / "dangling.json");
  save_checkpoint_folder(path("copy"), weights(), kConfig, source);
  EXPECT_THAT(test::names_in(path("copy")), ElementsAre("config.json", "link.json", "model-00001-of-00002.safetensors",
                                                        "model-00002-of-00002.safetensors",
                                                        "model.safetensors.index.json", "notes.md", "tokenizer.json"));
  EXPECT_EQ(read_file(path("copy") / "notes.md"), std::string("a\0b", 3));
  EXPECT_EQ(read_file(path("copy") / "link.json"), "{}");
}

// A checkpoint as only a foreign program would write it: the header's keys in another order than the data, blanks,
// overlong padding, an odd length; an index with other fields in another order; a shard with a name of its own.
class OddCheckpoint : public Checkpoint {
 protected:
  OddCheckpoint() {
    write_file(folder() / "config.json", "{\"dtype\" :\"bfloat16\",  \"sub\": {\"torch_dtype\": \"float64\"}}");
    write_file(
        folder() / "two.safetensors",
        raw(R"({"b": {"data_offsets":[4,8],"shape":[1,2],"dtype":"BF16"},  "__metadata__":{"z":"1","format":"pt"},)"
            R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})"
            "             ",
            "abcdEFGH"));
    write_file(folder() / "one.safetensors", raw(R"({"c":{"dtype":"F32","shape":[],"data_offsets":[0,4]}} )", "wxyz"));
    write_file(folder() / "model.safetensors.index.json",
               R"({"weight_map":{"c":"one.safetensors","a":"two.safetensors","b":"two.safetensors"},)"
               R"( "metadata": {"note":"é","total_size": 12}})");
    write_file(folder() / "modelling.py", "print('weights')\n");
  }
  static std::string raw(const std::string& header, const std::string& data) {
    std::string bytes(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, 8);
    return bytes + header + data;
  }
  fs::path folder() const { return path("odd"); }
  std::vector<NamedTensor> load(at::ScalarType half) const {
    std::vector<NamedTensor> model{
        {"a", at::zeros({2}, half)}, {"b", at::zeros({1, 2}, half)}, {"c", at::zeros({}, at::kFloat)}};
    load_parameters(folder(), model);
    return model;
  }
};

TEST_F(OddCheckpoint, UnchangedWeightsGiveTheSameBytesInEveryFile) {
  save_checkpoint_folder(path("copy"), load(at::kBFloat16), read_config_json(folder()), folder());
  expect_same_files(folder(), path("copy"));
}

TEST_F(OddCheckpoint, AnotherTypeChangesItsHeadersTheTotalAndTheNameOfTheTypeAlone) {
  const auto model = load(at::kFloat);
  save_checkpoint_folder(path("copy"), model, read_config_json(folder()), folder());
  EXPECT_EQ(read_file(path("copy") / "config.json"),
            "{\"dtype\" :\"float32\",  \"sub\": {\"torch_dtype\": \"float64\"}}");
  EXPECT_EQ(read_file(path("copy") / "model.safetensors.index.json"),
            R"({"weight_map":{"c":"one.safetensors","a":"two.safetensors","b":"two.safetensors"},)"
            R"( "metadata": {"note":"é","total_size": 20}})");
  EXPECT_EQ(read_file(path("copy") / "one.safetensors"), read_file(folder() / "one.safetensors"));
  const SafetensorsFile two(path("copy") / "two.safetensors");
  EXPECT_EQ(two.entries().front().name, "a");
  EXPECT_EQ(two.metadata().at("z"), "1");
  EXPECT_TRUE(at::equal(two.tensor("b"), model[1].tensor));
}

TEST_F(OddCheckpoint, WeightsThatDifferFromTheSourcesGetNewFiles) {
  auto model = load(at::kBFloat16);
  model.pop_back();
  save_checkpoint_folder(path("copy"), model, read_config_json(folder()), folder());
  EXPECT_FALSE(fs::exists(path("copy") / "two.safetensors"));
  EXPECT_FALSE(fs::exists(path("copy") / "model.safetensors.index.json"));
  EXPECT_TRUE(fs::exists(path("copy") / "modelling.py"));
  EXPECT_EQ(summarize_checkpoint(path("copy")).total.tensors, 2);
}

TEST_F(Checkpoint, WithoutAnExampleWeightsAreSplitByTheLargestFile) {
  std::vector<NamedTensor> model;
  for (const char* name : {"d", "c", "b", "a"}) model.push_back({name, at::full({10}, 0.5)});  // 40 bytes each
  model.push_back({"long", at::full({30}, 0.25)});
  save_checkpoint_folder(path("split"), model, kConfig, {}, 100);
  EXPECT_EQ(summarize_checkpoint(path("split")).files.size(), 3U);
  EXPECT_EQ(read_file(path("split") / "model.safetensors.index.json"), R"({
  "metadata": {
    "total_size": 280
  },
  "weight_map": {
    "a": "model-00002-of-00003.safetensors",
    "b": "model-00002-of-00003.safetensors",
    "c": "model-00001-of-00003.safetensors",
    "d": "model-00001-of-00003.safetensors",
    "long": "model-00003-of-00003.safetensors"
  }
}
)");
  std::vector<NamedTensor> again;
  for (const NamedTensor& tensor : model) again.push_back({tensor.name, at::zeros_like(tensor.tensor)});
  load_parameters(path("split"), again);
  for (std::size_t i = 0; i < model.size(); ++i) EXPECT_TRUE(at::equal(again[i].tensor, model[i].tensor));
}

TEST_F(Checkpoint, AFolderInUseIsNotOverwritten) {
  write_file(path("mine") / "thesis.txt", "precious");
  EXPECT_THAT(error_of([&] { save_checkpoint_folder(path("mine"), weights(), kConfig); }), HasSubstr("not empty"));
  EXPECT_EQ(read_file(path("mine") / "thesis.txt"), "precious");
}

// Checkpoints written by other software.
class ForeignCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(ForeignCheckpoint, RoundTripsToTheLastByteOfEveryFile) {
  const fs::path folder = test::source_dir() / "tests/golden/data/ckpt" / GetParam();
  const TemporaryFolder out;
  save_checkpoint_folder(out.path() / "copy", loaded(folder), read_config_json(folder), folder);
  expect_same_files(folder, out.path() / "copy");
}

INSTANTIATE_TEST_SUITE_P(Golden, ForeignCheckpoint,
                         ::testing::Values("llada_a", "llada_a_bf16", "dream_a", "dream_a_bf16", "dream_pad"));

}  // namespace drift::checkpoint_test
