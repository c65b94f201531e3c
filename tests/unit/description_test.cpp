// Descriptions of backbones: what is wrong with one, what one makes of a config.json, and which one a checkpoint finds.

#include <core/io/checkpoint.h>
#include <core/nn/described_config.h>
#include <core/nn/draft_description.h>
#include <core/nn/known_models.h>
#include <core/nn/transformer.h>

#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <drift/error.h>

#include <ATen/ops/cat.h>

namespace drift::description_test {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kSmall = R"(
family = "Small"
summary = "A small one."
like = "llama"
select.model_type = "small"
[keys]
block = "$block"
[switches]
predicts = "same"
attention = "block"
norm_weight = "before_rounding"
[forbidden]
ids = ["mask_and_above"]
)";

json small_config() {
  return {{"model_type", "small"},    {"hidden_size", 8},
          {"num_hidden_layers", 2},   {"num_attention_heads", 2},
          {"num_key_value_heads", 1}, {"intermediate_size", 16},
          {"vocab_size", 40},         {"max_position_embeddings", 64},
          {"rms_norm_eps", 1e-6},     {"rope_theta", 100.0},
          {"mask_token_id", 30},      {"pad_token_id", 32},
          {"eos_token_id", {3, 4}},   {"block", 4}};
}

/// kSmall with a text in the place of another.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

std::string mistake_in(const std::string& text) {
  return test::error_of([&] { nn::parse_description(text, "small.toml"); });
}

nn::DescribedConfig config_of(const std::string& text, const json& config,
                              const std::map<std::string, Parameter::Value>& settings = {}) {
  const auto description = nn::parse_description(text, "small.toml");
  ModelConfig model;
  model.config_json = config.dump();
  return nn::read_config(description, model, Parameters(nn::described_parameters(description), settings));
}

std::string refusal(const json& changes, const std::string& text = kSmall) {
  json config = small_config();
  config.merge_patch(changes);
  return test::error_of([&] { config_of(text, config); });
}

TEST(Descriptions, NameWhatIsWrongAndTheNearestWord) {
  EXPECT_THAT(mistake_in(changed("block = \"$block\"", "blok = \"$block\"")),
              AllOf(HasSubstr("small.toml: [keys]: `blok` is not known"), HasSubstr("did you mean `block`?")));
  EXPECT_THAT(mistake_in(changed("predicts = \"same\"", "predicts = \"sane\"")), HasSubstr("did you mean `same`?"));
  EXPECT_THAT(mistake_in(changed("[forbidden]", "[forbiden]")), HasSubstr("did you mean `forbidden`?"));
  EXPECT_THAT(mistake_in(changed("\"mask_and_above\"", "\"mask_above\"")),
              HasSubstr("there are: mask, mask_and_above"));
  EXPECT_THAT(mistake_in(changed("like = \"llama\"", "")), HasSubstr("`hidden` is missing"));
  EXPECT_THAT(mistake_in(changed("family = \"Small\"", "family = 3")), HasSubstr("family: 3 is not a text"));
  EXPECT_THAT(mistake_in(changed("\"$block\"", "\"block\"")), HasSubstr("written \"$hidden_size\""));
  EXPECT_THAT(mistake_in(changed("\"$block\"", "\"$a + $b\"")), HasSubstr("is not of the form A / B or A * B"));
  EXPECT_THAT(mistake_in(changed("\"$block\"", "[]")), HasSubstr("the list is empty"));
  EXPECT_THAT(mistake_in(changed("[keys]", "[keys")), HasSubstr("small.toml:6"));
  EXPECT_THAT(mistake_in(std::string(kSmall) + "[tensors]\nup = \"a.weight\"\n"), HasSubstr("must have one `{layer}`"));
  EXPECT_THAT(mistake_in(std::string(kSmall) + "[tensors]\nhead = \"model.norm.weight\"\n"),
              HasSubstr("is also another tensor's name"));
  EXPECT_THAT(mistake_in(std::string(3000, '[')), HasSubstr("more than 2000 characters"));
}

TEST(Descriptions, SayWhatAConfigMeans) {
  const auto [shape, traits] = config_of(kSmall, small_config());
  EXPECT_EQ(shape.head_dimension, 4);
  EXPECT_EQ(shape.rotary_dimension, 4);
  EXPECT_EQ(shape.padding_row, 32);
  EXPECT_TRUE(shape.norm_weight_before_rounding);
  EXPECT_FALSE(shape.query_key_norm);
  EXPECT_EQ(traits.block_size, 4);
  EXPECT_THAT(end_ids(traits), ElementsAre(3, 4));
  EXPECT_THAT(traits.forbidden_output_ids, ElementsAre(Pair(30, 32), Pair(33, 40)));
}

TEST(Descriptions, TakeWhatAFolderLacksFromTheUser) {
  json config = small_config();
  config.erase("block");
  config.erase("mask_token_id");
  EXPECT_THAT(test::error_of([&] { config_of(kSmall, config); }),
              AllOf(HasSubstr("`block` is missing: set model.block_size"),
                    HasSubstr("`mask_token_id` is missing: set model.mask_id")));
  const auto taken = config_of(kSmall, config, {{"block_size", std::int64_t{8}}, {"mask_id", std::int64_t{35}}});
  EXPECT_EQ(taken.traits.block_size, 8);
  EXPECT_EQ(taken.traits.mask_id, 35);
  EXPECT_EQ(config_of(kSmall, small_config(), {{"block_size", std::int64_t{2}}}).traits.block_size, 2)
      << "the user is stronger than the file";
}

TEST(Descriptions, RefuseWhatTheyDoNotName) {
  EXPECT_THAT(refusal({{"window_cut", 3}}),
              AllOf(HasSubstr("`window_cut` is unknown"), HasSubstr("[without_effect] of small.toml")));
  EXPECT_THAT(refusal({{"hidden_act", "gelu"}}), HasSubstr("`hidden_act` = \"gelu\" is not supported (only \"silu\")"));
  EXPECT_THAT(refusal({{"num_attention_heads", 3}}),
              HasSubstr("`hidden_size` is not a multiple of `num_attention_heads`"));
  EXPECT_THAT(refusal({{"hidden_size", {8}}}), HasSubstr("`hidden_size` is [8], not an integer from 2"));
  EXPECT_THAT(refusal({{"mask_token_id", 40}}), HasSubstr("`mask_token_id` is 40, not an integer from 0 to 39"));
  EXPECT_THAT(refusal(json::object(), changed("block = \"$block\"", "rotary_part = 0.25\nblock = \"$block\"")),
              HasSubstr("or the part of it that is rotated"));
  EXPECT_THAT(refusal(json::object(), changed("[forbidden]",
                                              "[[consistent]]\nwhen = { block = 4 }\nvalues = { hidden_size = [16] }\n"
                                              "[forbidden]")),
              HasSubstr("`hidden_size` = 8 and `block` = 4 contradict each other"));
}

TEST(Descriptions, ChooseTheModelOfACheckpoint) {
  test::all_plugins();
  const auto chosen = [](const std::string& name) {
    const auto folder =
        test::source_dir() /
        (name.ends_with("_a") && name.starts_with("dream_") ? "tests/golden/data/ckpt" : "tests/golden/block/ckpt");
    return nn::models_that_take(read_config_json(folder / name));
  };
  EXPECT_THAT(chosen("dream_a"), ElementsAre("dream"));
  EXPECT_THAT(chosen("dreamreasoner_a"), ElementsAre("dreamreasoner"));
  EXPECT_THAT(chosen("fast_dllm_v2_a"), ElementsAre("fast_dllm_v2"));
  EXPECT_THAT(chosen("illada_a"), ElementsAre("illada"));
  EXPECT_THAT(chosen("sdar_hub_bf16"), ElementsAre("sdar"));
  EXPECT_THAT(chosen("trado_a"), ElementsAre("sdar"));
}

TEST(Descriptions, AreDraftedFromAnyCheckpoint) {
  for (const char* name : {"sdar_a", "dreamreasoner_a", "fast_dllm_v2_a", "illada_a"}) {
    const auto config = read_config_json(test::source_dir() / "tests/golden/block/ckpt" / name);
    const auto draft = nn::draft_description(config, name, {});
    EXPECT_THAT(draft, AllOf(HasSubstr("hidden = \"$hidden_size\""), HasSubstr("TELL"))) << name;
  }
  EXPECT_THROW(nn::draft_description("[]", "", {}), Error);
}

// As LLaDA2's: the first components of a head turn as those of a narrower head, the others stay.
TEST(PartialRotation, TurnsTheFirstComponents) {
  const std::int64_t batch = 2, sequence = 5, heads = 3, whole = 8, part = 4;
  const auto x = at::randn({batch * sequence, heads * whole});
  const nn::RotaryTable table(sequence, part, 100, at::kCPU);
  const auto by_head = x.view({batch * sequence, heads, whole});
  const auto first = by_head.narrow(2, 0, part).reshape({batch * sequence, heads * part});
  const auto turned = table.rotate(x, heads);
  EXPECT_TRUE(at::equal(turned.narrow(3, 0, part), table.rotate(first, heads)));
  EXPECT_TRUE(at::equal(turned.narrow(3, part, whole - part).transpose(1, 2).reshape({batch * sequence, heads, part}),
                        by_head.narrow(2, part, whole - part)));
}

}  // namespace drift::description_test
