// `drift fidelity` on the model that ships for it.

#include <tests/support/program.h>

namespace drift::fidelity_test {

using namespace test;
using namespace testing;

using Json = nlohmann::json;

CommandResult fidelity(const std::string& arguments) {
  return run_command(program().string() + " fidelity " + source("configs/fidelity.toml") + " " + arguments);
}

Json printed(const std::string& arguments) { return printed_json(fidelity(arguments + " --json")); }

TEST(FidelityCommand, ComparesEveryAlgorithmWithTheExactGradient) {
  const Json json = printed("--algorithms all --decoders random,confidence --views 2,1 --draws 8");
  EXPECT_EQ(json.at("responses"), 2401);
  EXPECT_EQ(json.at("states"), 4096);
  ASSERT_EQ(json.at("exact").size(), 2u);
  for (const Json& exact : json.at("exact")) {
    EXPECT_GT(exact.at("expected_reward"), 0.05) << exact;
    EXPECT_LT(exact.at("expected_reward"), 0.95) << exact;
    EXPECT_GT(exact.at("gradient_norm"), 0.01) << exact;
  }
  for (const char* algorithm : {"rldf", "d1", "espo", "tracerl", "coupled_grpo", "wd1", "spg"}) {
    EXPECT_EQ(std::ranges::count(json.at("rows"), algorithm, [](const Json& row) { return row.at("method"); }), 4)
        << algorithm;
  }
  for (const Json& row : json.at("rows")) {
    EXPECT_EQ(row.at("draws"), 8);
    EXPECT_GT(row.at("variance"), 0) << row;
    EXPECT_LE(row.at("bias_low"), row.at("bias")) << row;
    EXPECT_LE(row.at("bias"), row.at("bias_high")) << row;
  }
  // Views of the same responses cost forwards of the update, not of the decoder.
  const Json &one = json.at("rows").at(0), &two = json.at("rows").at(1);
  EXPECT_EQ(one.at("views"), 1);
  EXPECT_EQ(two.at("views"), 2);
  EXPECT_GT(two.at("forwards"), one.at("forwards"));
  EXPECT_LT(two.at("forwards"), 2 * one.at("forwards").get<double>());
}

/// A folder with a model of SDAR's shape that is small enough to enumerate: nine tokens, blocks of two.
void write_blocks_model(const ProgramFolder& folder) {
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
    folder.write(std::string("model/") + file, read_file(source("assets/sums-llada") + "/" + file));
  folder.write("model/config.json",
               R"({"model_type": "sdar", "block_size": 2, "hidden_size": 16, "num_hidden_layers": 1,
      "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24, "vocab_size": 9,
      "max_position_embeddings": 64, "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 10000,
      "tie_word_embeddings": false, "eos_token_id": 0, "pad_token_id": 0, "mask_token_id": 8})");
}

TEST(FidelityCommand, ComparesEveryAlgorithmOnAModelWithBlocks) {
  const ProgramFolder folder;
  write_blocks_model(folder);
  const Json json = printed_json(
      folder.drift("fidelity " + source("configs/fidelity.toml") +
                   " --model model --set model.name=sdar --set model.initialize=random --set rollout.block=2"
                   " --algorithms all --decoders confidence,threshold=0.2 --views 1 --draws 4 --json"));
  EXPECT_EQ(json.at("responses"), 8 * 8 * 8 * 8);
  EXPECT_GT(json.at("exact").at(0).at("gradient_norm"), 0);
  EXPECT_GE(json.at("rows").size(), 2u * 17u);
  for (const Json& row : json.at("rows")) {
    EXPECT_LE(row.at("steps"), 4) << row;
    EXPECT_GT(row.at("variance"), 0) << row;
  }
}

TEST(FidelityCommand, GivesTheSameNumbersAgain) {
  const std::string arguments = "--decoders confidence --views 1 --draws 6";
  EXPECT_EQ(printed(arguments), printed(arguments));
  EXPECT_NE(printed(arguments), printed(arguments + " --seed 2"));
}

TEST(FidelityCommand, WritesATable) {
  const ProgramFolder folder;
  const auto csv = folder.path("out.csv");
  EXPECT_THAT(fidelity("--decoders random --views 1,2 --draws 6 --csv " + csv.string()),
              prints("2,401 responses, 4,096 states", "norm ratio"));
  const std::string table = read_file(csv);
  EXPECT_THAT(table, StartsWith("method,decoder,views,draws,contexts,steps,forwards,bias,"));
  EXPECT_EQ(std::ranges::count(table, '\n'), 3);
}

TEST(FidelityCommand, ComparesWithAReferenceOfManyViewsBlockByBlock) {
  const Json json = printed("--reference-views 8 --views 1,4 --draws 3 --set train.prompts_per_step=4");
  std::vector<std::string> parts;
  for (const Json& row : json.at("rows")) {
    if (row.at("views") == 1) parts.push_back(row.at("part"));
    EXPECT_LE(row.at("cosine"), 1.000001) << row;
  }
  EXPECT_THAT(parts, Contains("all"));
  EXPECT_THAT(parts, Contains("model.transformer.blocks.1"));
  EXPECT_GT(json.at("rows").at(1).at("cosine"), json.at("rows").at(0).at("cosine")) << "4 views, 1 view";
}

// The shipped file: each denoising step is a slice, parts of a loss are groups, every response fills its length.
TEST(FidelityCommand, SettingsOfAlgorithmsReachThoseThatHaveThem) {
  const std::string few = " --decoders confidence --views 1 --draws 4";
  const auto rows = [&](const std::string& arguments) { return printed(arguments + few).at("rows"); };
  const Json alone = rows("--algorithm tracerl").at(0), listed = rows("--algorithms tracerl").at(0);
  EXPECT_EQ(alone, listed);
  EXPECT_EQ(alone.at("contexts"), 4) << "one state for each of four steps";
  const Json both = rows("--algorithms d1,tracerl --set algorithm.masking.shrink=8");
  EXPECT_EQ(both.at(0).at("contexts"), 1);
  EXPECT_EQ(both.at(1).at("contexts"), 1);
  EXPECT_NE(both.at(1).at("variance"), alone.at("variance"));
  EXPECT_EQ(rows("--algorithms d1,tracerl").at(0), both.at(0)) << "not a setting of d1";
  const auto misfit = fidelity("--algorithms d1 --set train.group_size=6" + few);
  EXPECT_THAT(misfit.error, HasSubstr("values that fit: 1, 2, 3, 6, or 0")) << "the file's 8";
  EXPECT_THAT(fidelity("--algorithms rldf,espo --set algorithm.masking.shrink=1" + few),
              mistake("none of these algorithms has such a parameter: rldf, espo"));
}

TEST(FidelityCommand, SaysWhereAPresetsPartsDoNotDivideTheGroup) {
  const ProgramFolder folder;
  folder.write("run.toml",
               "extends = [\"drift:configs/models/sums-llada.toml\", \"drift:configs/tasks/sums.toml\"]\n"
               "algorithm.name = \"d1\"\ntrain.group_size = 8\n");
  EXPECT_THAT(folder.drift("fidelity run.toml --decoders confidence --views 1 --draws 4"),
              warns("warning: d1: micro_batch = 4: the largest divisor of train.group_size = 8"));
}

TEST(FidelityCommand, SaysWhichRowsHaveMoreContextsThanTheResponseHasSteps) {
  EXPECT_THAT(fidelity("--algorithms mdpo,tracerl --decoders random --views 1 --draws 4"),
              prints(ContainsRegex("\n *mdpo .* 16\\* "), ContainsRegex("\n *tracerl .* 4  "),
                     "* more contexts than the response has denoising steps"));
  EXPECT_THAT(fidelity("--algorithms tracerl --decoders random --views 1 --draws 4").output,
              Not(HasSubstr("* more contexts")));
}

TEST(FidelityCommand, RefusesWhatItCannotDo) {
  const auto error_of = [](const std::string& arguments) { return fidelity(arguments).error; };
  EXPECT_THAT(error_of("--decoders confidense"), HasSubstr("did you mean `confidence`?"));
  EXPECT_THAT(error_of("--draws 3"), HasSubstr("at least 4"));
  EXPECT_THAT(error_of("--reference d1"), HasSubstr("--reference-views"));
  EXPECT_THAT(error_of("--algorithms esp"), HasSubstr("did you mean `espo`?"));
  EXPECT_THAT(error_of("--set reward.truncation_is_wrong=true"), HasSubstr("reward.truncation_is_wrong"));
  EXPECT_THAT(error_of("--set rollout.length=12 --set rollout.block=12"), HasSubstr("cannot be enumerated"));
}

}  // namespace drift::fidelity_test
