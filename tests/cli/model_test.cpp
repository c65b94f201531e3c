// `drift model info` and `drift model verify` on the tiny golden checkpoints, from outside.

#include <core/io/adapter_files.h>
#include <core/io/safetensors.h>

#include <tests/support/program.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace drift::model_test {

using namespace test;
using namespace testing;

class ModelCommand : public Test, public ProgramFolder {
 protected:
  static std::filesystem::path golden() { return source_dir() / "tests/golden/data"; }
  static std::filesystem::path dream() { return golden() / "ckpt/dream_a"; }

  CommandResult verify(const std::string& reference, const std::string& options = "") const {
    return drift("model verify " + dream().string() + " --reference " + reference + " " + options);
  }
};

TEST_F(ModelCommand, InfoSaysWhatACheckpointIs) {
  ASSERT_THAT(drift("model info " + dream().string()),
              prints("family               Dream    (model `dream`)\n", "parameters           268,416    (0.27 M)\n",
                     "on disk              float32: 39 tensors, 1.02 MiB    (3 files)\n",
                     "mask, pad, end ids   270, 260, 260\n", "never written        270 to 287\n",
                     "row that predicts    the one before\n", "bfloat16  0.51 MiB  4.61 MiB\n"));
}

TEST_F(ModelCommand, InfoAsJson) {
  const auto info = printed_json(drift("model info " + (golden() / "ckpt/llada_a_bf16").string() + " --json"));
  EXPECT_EQ(info["parameters"], 139584);
  EXPECT_EQ(info["on_disk"]["bfloat16"]["bytes"], 2 * 139584);
  EXPECT_EQ(info["memory"]["float32"]["run"], 4 * 139584);
  EXPECT_EQ(info["chat_formats"], nlohmann::json({"chat", "rldf_release"}));
}

TEST_F(ModelCommand, ACheckpointFindsItsModelAndAWrongOneNamesIt) {
  const std::string blocks = (source_dir() / "tests/golden/block/ckpt").string();
  EXPECT_THAT(drift("model info " + blocks + "/dreamreasoner_a"), prints("DreamReasoner    (model `dreamreasoner`)"));
  EXPECT_THAT(drift("model info " + blocks + "/sdar_tf5"), prints("SDAR    (model `sdar`)"));
  EXPECT_THAT(drift("model info " + blocks + "/dreamreasoner_a --set model.name=dream"),
              fails("`block_size` is there", "selects this checkpoint: [model] name = \"dreamreasoner\""));
  EXPECT_THAT(drift("model info " + blocks + "/sdar_hub_bf16"),
              fails("`block_size` is missing: set model.block_size", "`mask_token_id` is missing: set model.mask_id"));
  EXPECT_THAT(drift("model info " + blocks + "/sdar_hub_bf16 --set model.block_size=4 --set model.mask_id=149"),
              prints("mask, pad, end ids   149, 143, 143, 145\n"));
  EXPECT_THAT(drift("model info " + dream().string() +
                    " --set model.description=" + (source_dir() / "plugins/models/dream.toml").string()),
              prints("Dream    (model `described`)"));
}

TEST_F(ModelCommand, AnUnknownChatTemplateIsWarnedAbout) {
  std::filesystem::copy(source_dir() / "assets/sudoku-dream", path("model"));
  write_file(path("model/chat_template.jinja"), "[INST] {{ messages[0].content }} [/INST]");
  const auto result = drift(
      "generate model --prompt 1 --set prompt.format=chat --set rollout.name=block "
      "--set rollout.length=4 --set rollout.block=4");
  EXPECT_THAT(result.error, HasSubstr("is not a known one: it has no `<|im_start|>`; prompts have the format `chat` of "
                                      "Dream"));
}

TEST_F(ModelCommand, ADamagedConfigurationIsNamedByItsPath) {
  std::filesystem::create_directory(path("model"));
  const auto file = path("model/config.json");
  for (const char* content : {"", "[]", "{\"model_type\": \"llada\",", "{\"model_type\": 3e999}", "{\"a\": {}}",
                              "{\"model_type\": 5}", "{\"model_type\": \"llada\", \"d_model\": -1}"}) {
    write_file(file, content);
    const auto result = drift("model info model");
    EXPECT_NE(result.status, 0) << content;
    EXPECT_THAT(result.error, HasSubstr("model/config.json")) << content;
  }
  std::filesystem::resize_file(file, 200'000'000);
  EXPECT_THAT(drift("model info model").error, HasSubstr("model/config.json is larger than 16000000 bytes"));
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_THAT(drift("model info model").error, HasSubstr("model/config.json: it is a folder"));
}

TEST_F(ModelCommand, VerifyPassesWithinTheTolerance) {
  const auto reference = (golden() / "forward/fwd_dream_a_leftpad_positions.safetensors").string();
  ASSERT_THAT(verify(reference, "--tolerance 2.4e-4"),
              prints("equal arg-maxima    100.00 % of 66 rows\n", "|reference|: kept\n"));
}

TEST_F(ModelCommand, VerifyFailsBeyondTheToleranceAndSaysWhere) {
  const SafetensorsFile right(golden() / "forward/fwd_dream_a_plain.safetensors");
  auto logits = right.tensor("logits").clone();
  logits[1][7][42] += 0.5;
  write_safetensors(path("wrong.safetensors"), {{"input_ids", right.tensor("input_ids")}, {"logits", logits}});
  EXPECT_THAT(verify("wrong.safetensors"),
              finds("largest difference  0.5",
                    "where               sequence 1, position 7, token 42: ", "|reference|: exceeded\n"));
  EXPECT_EQ(verify("wrong.safetensors", "--tolerance 0.6").status, 0);
  const auto json = verify("wrong.safetensors", "--json");
  EXPECT_THAT(json, fails());
  EXPECT_EQ(nlohmann::json::parse(json.output).at("passed"), false);
}

TEST_F(ModelCommand, VerifyDoesTheForwardsOfBlocks) {
  const auto blocks = source_dir() / "tests/golden/block";
  const auto of = [&](const std::string& reference, const std::string& options) {
    return drift("model verify " + (blocks / "ckpt/sdar_a").string() + " --reference " +
                 (blocks / "forward" / (reference + ".safetensors")).string() + " " + options);
  };
  EXPECT_THAT(of("fwd_sdar_a_causal", "--mode block_causal --block 1"), prints("|reference|: kept\n"));
  EXPECT_THAT(of("fwd_sdar_a_causal", ""), finds("|reference|: exceeded\n"));
  EXPECT_THAT(of("two_sdar_a_response", ""), prints("% of 40 rows\n", "|reference|: kept\n"));
  EXPECT_THAT(of("two_sdar_a_response", "--block 3"), finds("noisy_logits: sequence"));
  EXPECT_THAT(of("cache_sdar_a_blocks", ""), prints("% of 24 rows\n", "|reference|: kept\n"));
  EXPECT_THAT(of("cache_sdar_a_blocks", "--block 8"), fails("a cache has blocks of 4 tokens, as the model, not of 8"));
  EXPECT_THAT(of("fwd_sdar_a_causal", "--mode two_copy_global"), fails("there is no tensor `masked`"));
  EXPECT_EQ(of("fwd_sdar_a_causal", "--mode causal").status, 2);
  EXPECT_THAT(verify((golden() / "forward/fwd_dream_a_plain.safetensors").string(), "--mode block_causal"),
              fails("the model has no blocks, which the mode `block_causal` needs"));
}

TEST_F(ModelCommand, VerifyNeedsAReferenceThatFits) {
  EXPECT_EQ(drift("model verify " + dream().string()).status, 2);
  EXPECT_EQ(verify("x.safetensors", "--tolerance near").status, 2);
  EXPECT_THAT(verify("nothing.safetensors").error, HasSubstr("nothing.safetensors"));

  const auto tokens = at::zeros({1, 4}, at::kLong);
  write_safetensors(path("a.safetensors"), {{"input_ids", tokens}, {"logits", at::zeros({1, 4, 7})}});
  auto result = verify("a.safetensors");
  EXPECT_THAT(result, fails("`logits` has the shape [1, 4, 7], expected [1, 4, 288]"));

  write_safetensors(path("b.safetensors"),
                    {{"input_ids", at::full({1, 4}, 288, at::kLong)}, {"logits", at::zeros({1, 4, 288})}});
  EXPECT_THAT(verify("b.safetensors").error, HasSubstr("288, which is outside the model's vocabulary of 288"));

  write_safetensors(path("c.safetensors"), {{"ids", tokens}, {"logits", at::zeros({1, 4, 288})}});
  EXPECT_THAT(verify("c.safetensors").error, HasSubstr("there is no tensor `input_ids`"));
}

TEST_F(ModelCommand, AConfigurationThatCannotBeComputedIsRefusedByName) {
  std::filesystem::copy(dream(), path("changed"));
  auto config = nlohmann::json::parse(read_file(dream() / "config.json"));
  config["rope_scaling"] = {{"type", "yarn"}};
  write("changed/config.json", config.dump());
  EXPECT_THAT(drift("model info changed"), fails("`rope_scaling` = {\"type\":\"yarn\"} is not supported"));
}

TEST_F(ModelCommand, InfoNamesEveryEndTokenOfBothFiles) {
  std::filesystem::copy(dream(), path("ends"));
  auto config = nlohmann::json::parse(read_file(dream() / "config.json"));
  config["eos_token_id"] = {260, 3};
  write("ends/config.json", config.dump());
  write("ends/generation_config.json", R"({"eos_token_id": [3, 5]})");
  EXPECT_THAT(drift("model info ends").output, HasSubstr("mask, pad, end ids   270, 260, 260, 3, 5\n"));
  write("ends/generation_config.json", "[");
  EXPECT_THAT(drift("model info ends").error, HasSubstr("generation_config.json is not a JSON object"));
}

// One rule for what adds an adapter while it computes and for what adds it once: the head can have none.
TEST_F(ModelCommand, AnAdapterThatTheModelCannotHaveIsNotMergedEither) {
  std::filesystem::create_directory(path("head"));
  write_adapter_files(
      path("head"), {.rank = 2, .alpha = 4, .dropout = 0, .modules = {"lm_head"}, .base = {}},
      {{"lm_head.lora_A.weight", at::full({2, 96}, 0.1)}, {"lm_head.lora_B.weight", at::full({288, 2}, 0.1)}});
  for (const std::string command : {"model info ", "model merge "})
    EXPECT_THAT(
        drift(command + dream().string() + " --adapter head" + (command == "model merge " ? " --out merged" : "")),
        fails("is not one of this model, which has no `lm_head`"))
        << command;
}

TEST_F(ModelCommand, AMergeThatChangesNothingSaysSo) {
  std::filesystem::create_directory(path("new"));
  write_adapter_files(path("new"), {.rank = 2, .alpha = 4, .dropout = 0, .modules = {}, .base = {}},
                      {{"model.layers.0.self_attn.q_proj.lora_A.weight", at::full({2, 96}, 0.1)},
                       {"model.layers.0.self_attn.q_proj.lora_B.weight", at::zeros({96, 2})}});
  EXPECT_THAT(
      drift("model merge " + dream().string() + " --adapter new --out same"),
      AllOf(prints("unchanged   0 of 1 projections", Not(HasSubstr("merged "))), warns("warning: nothing changed")));
}

TEST_F(ModelCommand, AMissingShardIsCalledThat) {
  std::filesystem::copy(dream(), path("part"));
  std::filesystem::remove(path("part/model-00002-of-00003.safetensors"));
  EXPECT_THAT(drift("model info part"),
              fails("part/model.safetensors.index.json names `model-00002-of-00003.safetensors`, "
                    "which is missing"));
}

TEST_F(ModelCommand, LinksThatLeadNowhereAreSaidToDoSo) {
  std::filesystem::create_directory(path("hub"));
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
    std::filesystem::create_symlink("../../blobs/1a2b", path("hub") / name);
  for (const std::string command : {"model info hub", "generate hub --token-ids 5", "tokenize hub --text a"})
    EXPECT_THAT(drift(command).error, HasSubstr(".json is a link to ../../blobs/1a2b, which is not there")) << command;
}

TEST_F(ModelCommand, WeightsThatDoNotFitAreAllListed) {
  std::filesystem::copy(golden() / "ckpt/llada_a", path("thin"));
  auto config = read_json("thin/config.json");
  config["mlp_hidden_size"] = 128;
  config["weight_tying"] = true;
  write("thin/config.json", config.dump());
  EXPECT_THAT(drift("model verify thin --reference " + (golden() / "forward/fwd_llada_a_plain.safetensors").string()),
              fails("7 problems", "`model.transformer.blocks.1.ff_out.weight` is [64, 192]",
                    "surplus: `model.transformer.ff_out.weight`"));
}

}  // namespace drift::model_test
