// configs/pretrain/sft-*.toml hold what follows from the originals' configuration files:
// tests/golden/presets/supervised.

#include "tests/golden/preset_derivation.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/config/document.h>
#include <core/config/run_config.h>

#include <cmath>

namespace drift::supervised_presets_test {

namespace fs = std::filesystem;
using namespace std::string_literals;

constexpr std::int64_t kSteps = 1000;  // of the files with a warm-up, which is a share of them

void add_schedule(test::Settings& settings, const std::string& kind, double warmup_share) {
  settings["pretrain.schedule"] = kind;
  settings["pretrain.steps"] = kSteps;
  settings["pretrain.warmup_steps"] = std::llround(warmup_share * kSteps);
}

/// SDAR's and DiRL's. A row's cutoff counts each token once, packed_length its masked copy, too.
test::Settings llama_factory_sdar(const test::Original& o) {
  test::Settings settings = {
      {"model.block_size", o.integer("block_length")},
      {"pretrain.noise", "text"s},
      {"pretrain.batch_size", o.integer("per_device_train_batch_size") * o.integer("gradient_accumulation_steps")},
      {"pretrain.response_length", o.integer("cutoff_len")},
      {"pretrain.learning_rate", o.number("learning_rate")}};
  if (o.flag("neat_packing")) settings["pretrain.packed_length"] = 2 * o.integer("cutoff_len");
  EXPECT_EQ(o.text("lr_scheduler_type"), "constant_with_warmup");
  add_schedule(settings, "constant", o.number("warmup_ratio"));
  return settings;
}

test::Settings dllm_rl(const test::Original& o) {
  EXPECT_EQ(o.text("method"), "semi-ar");
  return {{"model.block_size", o.integer("block_size")},
          {"pretrain.noise", "semi_ar"s},
          {"pretrain.minimum_mask_ratio", o.number("lower_p")},
          {"pretrain.maximum_mask_ratio", o.number("upper_p")},
          {"pretrain.batch_size", o.integer("gradient_accumulation_steps")},
          {"pretrain.learning_rate", o.number("learning_rate")}};
}

test::Settings dare_sdar(const test::Original& o) {
  return {{"model.block_size", o.integer("block_length")},
          {"pretrain.noise", "text"s},
          {"pretrain.response_length", o.integer("max_length")},
          {"pretrain.learning_rate", o.number("lr")}};
}

test::Settings llada2(const test::Original& o, const std::string& block, const std::string& length) {
  return {{"model.block_size", o.integer(block)},
          {"pretrain.noise", "mean"s},
          {"pretrain.minimum_mask_ratio", o.number("noise_range_low")},
          {"pretrain.maximum_mask_ratio", o.number("noise_range_high")},
          {"pretrain.response_length", o.integer(length)},
          {"pretrain.learning_rate", o.number("lr")}};
}

test::Settings dare_llada2(const test::Original& o) { return llada2(o, "block_length", "max_length"); }

test::Settings dfactory(const test::Original& o) {
  EXPECT_TRUE(o.flag("same_token_labels"));
  auto settings = llada2(o, "block_size", "max_seq_len");
  settings["pretrain.batch_size"] = o.integer("global_batch_size");
  settings["pretrain.weight_decay"] = o.number("weight_decay");
  settings["pretrain.gradient_clip"] = o.number("max_grad_norm");
  add_schedule(settings, o.text("lr_decay_style"), o.number("lr_warmup_ratio"));
  return settings;
}

const std::map<std::string, test::Settings (*)(const test::Original&)> kRuleOfTrainer = {
    {"llama_factory_sdar", llama_factory_sdar},
    {"sft_sdar", dllm_rl},
    {"verl_sdar", dare_sdar},
    {"verl_llada2", dare_llada2},
    {"dfactory", dfactory}};

/// The files `sft-*.toml` of a folder, by their names.
std::map<std::string, fs::path> files_in(const fs::path& folder) {
  std::map<std::string, fs::path> found;
  for (const auto& file : fs::directory_iterator(test::source_dir() / folder)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("sft-")) found[name] = file.path();
  }
  return found;
}

TEST(SupervisedPresets, HoldWhatFollowsFromTheOriginalsFiles) {
  const auto fixtures = files_in("tests/golden/presets/supervised");
  const auto presets = files_in("configs/pretrain");
  EXPECT_EQ(presets.size(), fixtures.size());
  for (const auto& [name, file] : presets) {
    SCOPED_TRACE(name);
    const test::Original original(fixtures.at(name));
    test::Settings found;
    const ConfigDocument document = load_document(file, {});
    for (const ConfigLayer& layer : document.layers) {
      for (const auto& [key, leaf] : layer.leaves) {
        if (key.starts_with("pretrain.") || key == "model.block_size") found[key] = leaf.value.value();
      }
    }
    EXPECT_EQ(found, kRuleOfTrainer.at(original.text("trainer"))(original));
    EXPECT_THAT(original.unread(), testing::IsEmpty()) << "keys of the fixture that no rule knows";
  }
}

TEST(SupervisedPresets, AreRunsOfTheirModels) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "llada2/config.json", R"({"model_type": "llada2_moe"})");
  for (const auto& [name, file] : files_in("configs/pretrain")) {
    const bool experts = test::read_file(file).find("llada2-mini.toml") != std::string::npos;
    const fs::path model = experts ? folder.path() / "llada2" : test::source_dir() / "assets/shapes/sdar-4b";
    const auto document = load_document(file, {{"", "model.path", model.string(), /*literal=*/true}});
    EXPECT_NO_THROW(resolve_config(document, test::all_plugins(), ConfigPurpose::kPretrain)) << name;
  }
}

}  // namespace drift::supervised_presets_test
