// tests/golden/data/originals.json: what the settings of published decoders mean here.

#include <core/rollout/originals.h>

#include <drift/error.h>

#include "tests/support/support.h"

namespace drift::originals_test {

using namespace testing;
using Json = nlohmann::json;

std::filesystem::path file() { return test::source_dir() / "tests/golden/data/originals.json"; }

OriginalSettings translated(const std::string& name, const Json& given) {
  return Original(file(), name).translate(given, "settings.json");
}

std::map<std::string, Parameter::Value> settings_of(const std::string& name, const Json& given) {
  return translated(name, given).settings;
}

/// "key = value" of one setting.
auto has(const std::string& key, const Parameter::Value& value) { return Contains(Pair(key, value)); }
auto ids(std::vector<std::int64_t> list) { return Parameter::Value(std::move(list)); }
auto names(std::vector<std::string> list) { return Parameter::Value(std::move(list)); }
Parameter::Value text(const char* value) { return std::string(value); }

TEST(Originals, OptionsThatAreNotGivenHaveTheOriginalsDefaults) {
  EXPECT_THAT(settings_of("llada_generate", Json::object()),
              AllOf(has("length", std::int64_t{128}), has("steps", std::int64_t{128}), has("guidance", 0.0),
                    has("schedule", text("static")), Not(Contains(Key("forbidden_ids")))));
}

TEST(Originals, NullLeavesAKeyOut) {
  const auto made = settings_of("dream_generate", {{"alg", "entropy"}, {"alg_temp", nullptr}, {"top_p", 0.9}});
  EXPECT_THAT(made, AllOf(has("order", text("entropy")), has("top_p", 0.9), Not(Contains(Key("order_temperature"))),
                          Not(Contains(Key("top_k")))));
}

TEST(Originals, PositionsAreDrawnByTheTemperatureOfTheirOrder) {
  for (const char* name : {"dream_generate", "drift_dream", "fast_dream_block"}) {
    EXPECT_THAT(settings_of(name, {{"alg_temp", 0.5}}), has("order_temperature", 0.5)) << name;
    EXPECT_THAT(settings_of(name, {{"alg_temp", nullptr}}), Not(Contains(Key("order_temperature")))) << name;
  }
}

TEST(Originals, TheEndTokensOfLladaDependOnTheTemperature) {
  Json given = {{"eos_id", 5}, {"eot_id", 6}, {"confidence_eos_eot_inf", true}, {"temperature", 0}};
  EXPECT_THAT(settings_of("llada_generate", given),
              AllOf(has("unsure_ids", ids({5, 6})), Not(Contains(Key("forbidden_ids")))));
  given["temperature"] = 0.5;
  EXPECT_THAT(settings_of("llada_generate", given), has("unsure_ids", ids({6})));
  EXPECT_THAT(settings_of("llada_generate", {{"eos_id", 5}, {"logits_eos_inf", true}}), has("forbidden_ids", ids({5})));
}

TEST(Originals, ScheduleFollowsFromThresholdAndFactor) {
  for (const char* name : {"fast_llada", "drift_llada", "drift_dream"}) {
    EXPECT_THAT(settings_of(name, {{"threshold", nullptr}, {"steps", 64}}),
                AllOf(has("schedule", text("static")), has("steps", std::int64_t{64})));
    EXPECT_THAT(settings_of(name, {{"threshold", 1}}),
                AllOf(has("schedule", text("dynamic")), has("threshold", 1.0), Not(Contains(Key("steps")))));
  }
  EXPECT_THAT(settings_of("fast_llada", {{"threshold", 0.9}, {"factor", 1.5}, {"revision", "f6b35ec"}}),
              AllOf(has("schedule", text("factor")), has("factor", 1.5),
                    has("quirks", names({"counts_batch", "writes_any_id", "last_rank"}))));
  EXPECT_THAT(settings_of("fast_dream_block", {{"alg", "maskgit_plus"}}),
              AllOf(has("schedule", text("static")), has("remasking", text("negative_entropy"))));
  EXPECT_THAT(settings_of("fast_dream_block", {{"alg", "confidence_threshold"}, {"cache", "dual"}}),
              AllOf(has("schedule", text("dynamic")), has("threshold", 0.9), has("cache", text("dual"))));
}

TEST(Originals, OnlyTheEarlierRevisionWastesAForward) {
  const auto waste = Contains(Pair("quirks", names({"counts_batch", "writes_any_id", "last_rank", "second_forward"})));
  EXPECT_THAT(settings_of("fast_llada", {{"cache", "prefix"}}), waste);
  EXPECT_THAT(settings_of("fast_llada", {{"cache", "none"}}), Not(waste));
  EXPECT_THAT(settings_of("fast_llada", {{"cache", "dual"}, {"revision", "f6b35ec"}}), Not(waste));
}

TEST(Originals, TheHorizonCountsOnlyWithACache) {
  Json given = {{"use_cache", true}, {"further_horizon", 12}};
  EXPECT_THAT(settings_of("drift_llada", given), AllOf(has("cache", text("prefix")), has("horizon", std::int64_t{12})));
  given["use_cache"] = false;
  EXPECT_THAT(settings_of("drift_llada", given), AllOf(has("cache", text("none")), Not(Contains(Key("horizon")))));
}

TEST(Originals, IdsAndForwardsMayStandInTheSettingsOrBesideThem) {
  const auto alone = translated("fast_llada", {{"mask_id", 3}, {"pad_id", 4}, {"nfe", 7}});
  EXPECT_EQ(alone.mask_id, 3);
  EXPECT_EQ(alone.pad_id, 4);
  EXPECT_EQ(alone.forwards, 7);
  const auto of_case =
      translated("fast_llada", {{"id", "x"}, {"algorithm", "fast_llada"}, {"nfe", 8}, {"settings", {{"mask_id", 3}}}});
  EXPECT_EQ(of_case.mask_id, 3);
  EXPECT_EQ(of_case.forwards, 8);
  EXPECT_EQ(of_case.pad_id, std::nullopt);
}

TEST(Originals, OfBlockModelsSayTheirForwardsByKind) {
  const Json options = {{"block_length", 4}, {"draw", "argmax, whatever else is said"}};
  const auto rows = translated("jetengine", {{"settings", options}, {"nfe_rows", {{1, 6, 3}, {0, 5, 2}}}});
  EXPECT_THAT(rows.forwards_by_kind,
              testing::ElementsAre(std::array<std::int64_t, 3>{1, 6, 3}, std::array<std::int64_t, 3>{0, 5, 2}));
  EXPECT_THAT(rows.model, has("block_size", std::int64_t{4}));
  EXPECT_TRUE(rows.draws_most_probable && rows.ends_early);
  const auto one = translated(
      "sdar_generate", {{"settings", {{"draw", "forced"}}}, {"nfe_prefill", 1}, {"nfe_denoise", 4}, {"nfe_store", 2}});
  EXPECT_THAT(one.forwards_by_kind, testing::ElementsAre(std::array<std::int64_t, 3>{1, 4, 2}));
  EXPECT_FALSE(one.draws_most_probable);
}

TEST(Originals, OfBlockModelsBoundEntropiesByTheirOwnThreshold) {
  const Json given = {{"remasking_strategy", "entropy_bounded"}, {"eb_threshold", 0.7}};
  EXPECT_THAT(settings_of("jetengine", given),
              AllOf(has("threshold", 0.7), has("remasking", text("negative_entropy"))));
  EXPECT_THAT(settings_of("dreamreasoner_block", given),
              AllOf(has("threshold", 0.7), has("remasking", text("taken_entropy"))));
}

TEST(Originals, Llada2HasNoMoreStepsThanItsLeastTokensAStepLeave) {
  const auto steps = [](const Json& given) { return settings_of("llada2_generate", given).at("block_steps"); };
  EXPECT_EQ(steps({{"steps", 8}, {"gen_length", 16}, {"minimal_topk", 4}}), Parameter::Value(std::int64_t{4}));
  EXPECT_EQ(steps({{"steps", 8}, {"gen_length", 5}}), Parameter::Value(std::int64_t{5}));
  EXPECT_EQ(steps({{"steps", 8}}), Parameter::Value(std::int64_t{8}));
}

TEST(Originals, OnlySomeTakeAMask) {
  const Json all = Json::parse(test::read_file(file())).at("originals");
  for (const auto& [name, described] : all.items()) {
    EXPECT_EQ(translated(name, Json::object()).takes_mask, name == "llada_generate" || name == "dream_generate")
        << name;
  }
}

TEST(Originals, AMistakeNamesTheFileAndTheOption) {
  EXPECT_THAT(test::error_of([] {
                settings_of("fast_llada", {{"cache", "duel"}});
              }),
              AllOf(HasSubstr("settings.json: `cache` of fast_llada is \"duel\""), HasSubstr("did you mean `dual`?")));
}

}  // namespace drift::originals_test
