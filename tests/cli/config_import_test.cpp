// `drift config import`, from outside.

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <string>

namespace drift {
namespace {

using testing::HasSubstr;

class ConfigImport : public testing::Test {
 protected:
  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("cd " + folder_.path().string() + " && " + test::program().string() + " " + arguments);
  }
  static std::string published(const std::string& name) {
    return (test::source_dir() / "tests/golden/imports" / name).string();
  }

  test::TemporaryFolder folder_;
};

TEST_F(ConfigImport, PrintsARunWithOriginsAndWhatIsMissing) {
  const auto result = drift("config import " + published("espo/recipes/run_sudoku_llada.sh"));
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("# From "));
  EXPECT_THAT(result.output, HasSubstr("\n[algorithm]\nname = \"espo\""));
  EXPECT_THAT(result.output, HasSubstr("\n# Without a counterpart:\n"));
  EXPECT_THAT(result.error,
              testing::ContainsRegex("^ESPO: [0-9]+ values imported, [0-9]+ without a counterpart, 0 not known\n$"));
}

TEST_F(ConfigImport, TheFileIsOneOfARun) {
  const auto imported = drift("config import " + published("drift-py/configs/llada_math.yaml") + " --out run.toml");
  ASSERT_EQ(imported.status, 0) << imported.error;
  EXPECT_THAT(imported.output, testing::ContainsRegex("^[^\n]+ not known: run.toml\n$"));
  test::write_file(folder_.path() / "model/config.json", R"({"model_type": "llada"})");
  const auto shown = drift("config show run.toml --set model.path=model");
  EXPECT_EQ(shown.status, 0) << shown.error;
  EXPECT_THAT(shown.output, testing::ContainsRegex("low_prob_threshold += 0.6 +# run.toml:[0-9]+"));
  EXPECT_THAT(shown.output, testing::ContainsRegex("pad_steps += \"zero\" +# preset rldf_release"));
}

TEST_F(ConfigImport, AFileIsNotReplacedByAccident) {
  test::write_file(folder_.path() / "run.toml", "mine");
  const std::string command = "config import " + published("d1/slurm_scripts/train.yaml") + " --out run.toml";
  const auto refused = drift(command);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.error, HasSubstr("`run.toml` exists already\n  = choose another name, or replace it: --replace"));
  EXPECT_EQ(test::read_file(folder_.path() / "run.toml"), "mine");
  EXPECT_EQ(drift(command + " --replace").status, 0);
  EXPECT_THAT(test::read_file(folder_.path() / "run.toml"), HasSubstr("name = \"d1\""));
}

TEST_F(ConfigImport, WordsGoOverTheFileAndUnknownOnesAreWarnedOf) {
  const auto result = drift("config import " + published("d1/slurm_scripts/train.yaml") +
                            " --devices 4 -- --num_iterations 3 --beta=0 --no_such_key 1");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, testing::ContainsRegex("inner_iterations = 3 +# origin: command line --num_iterations\n"));
  EXPECT_THAT(result.output, testing::ContainsRegex("prompts_per_step = 8 +# origin: "));
  EXPECT_THAT(result.output, HasSubstr("\n# Not known, and so not imported:\n#   command line --no_such_key = 1\n"));
  EXPECT_THAT(result.error, HasSubstr("warning: not known, and so not imported: command line --no_such_key = 1\n"));
}

TEST_F(ConfigImport, AFileOfNoKnownProgramIsRefused) {
  test::write_file(folder_.path() / "other.yaml", "lr: 1\n");
  const auto result = drift("config import other.yaml --out run.toml");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(
      result.error,
      HasSubstr(
          "error: `other.yaml`: not a configuration of a known program, by its keys\n"
          "  = say whose it is: --from d1|dllm-rl|dllm-rl-eval|dllm-rl-sft|drift-py|drift-py-eval|espo|ml-diffucoder"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "run.toml"));
  EXPECT_THAT(drift("config import other.yaml --from esbo").error, HasSubstr("did you mean `espo`?"));
}

}  // namespace
}  // namespace drift
