// The reference: what the program says of a key or a metric, and the pages of the reference.

#include <tests/support/plugins.h>
#include <tests/support/training_run.h>

#include <core/config/schema.h>
#include <core/report/metric_reference.h>

namespace drift::reference_test {

using namespace test;
using namespace testing;

CommandResult drift(const std::string& arguments) { return run_command(program().string() + " " + arguments); }

std::string help(const std::string& word) {
  const auto result = drift("help " + word);
  EXPECT_THAT(result, warns(IsEmpty()));
  return result.output;
}

TEST(Reference, ItsPagesArePrintedForTheSite) {
  const std::pair<const char*, const char*> pages[] = {{"configuration", "\n## `[train]`\n"},
                                                       {"metrics", "\n## metrics.jsonl of a run\n"},
                                                       {"commands", "\n## drift train\n"}};
  for (const auto& [page, section] : pages)
    EXPECT_THAT(drift("reference " + std::string(page)), prints(StartsWith("# "), section));
}

TEST(Reference, AKeyIsExplained) {
  const std::string text = help("train.learning_rate");
  EXPECT_THAT(text, StartsWith("train.learning_rate: AdamW's learning rate, at the top of the schedule\n"));
  EXPECT_THAT(text, AllOf(ContainsRegex("\n  type +number\n"), ContainsRegex("\n  range +>= 0\n"),
                          ContainsRegex("\n  default +1e-6\n"), ContainsRegex("\n  section +\\[train\\]  the optimi")));
  EXPECT_THAT(text, ContainsRegex("\n  read by +drift train\n"));
  EXPECT_THAT(text, ContainsRegex("[ s]  1e-6: [^\n]*; rldf paper, "));
}

TEST(Reference, AKeyWithAShortFormNamesIt) {
  EXPECT_THAT(help("train.steps"), ContainsRegex("\n  short form +--steps N    \\(drift train[,)]"));
  EXPECT_THAT(help("run.seed"), ContainsRegex("\n  short form +--seed N    \\(drift train, drift pretrain, "));
  EXPECT_THAT(help("train.group_size"), Not(HasSubstr("short form")));
}

TEST(Reference, AParameterIsExplainedForEachComponentThatHasIt) {
  const std::string text = help("algorithm.loss.eps_high");
  EXPECT_THAT(text, StartsWith("algorithm.loss.eps_high: a parameter of the loss\n"));
  for (const char* loss : {"rldf", "d1", "tracerl"})
    EXPECT_THAT(text, ContainsRegex("\n  " + std::string(loss) + " +number +0\\.[0-9]+ +>= 0 +the ratio is clipped"));
  EXPECT_THAT(text, Not(ContainsRegex("\n  wd1 ")));
}

TEST(Reference, ANameAloneIsExplainedInEverySection) {
  const std::string text = help("learning_rate");
  EXPECT_THAT(text, AllOf(HasSubstr("train.learning_rate: "), HasSubstr("\npretrain.learning_rate: ")));
  EXPECT_THAT(text, HasSubstr("learning_rate: AdamW's learning rate at the beginning")) << "a metric of this name";
  const std::string temperature = help("temperature");
  EXPECT_THAT(temperature, StartsWith("rollout.temperature: "));
  EXPECT_THAT(temperature, ContainsRegex("\n  also in +\\[evaluation.rollout\\]\n"));
  EXPECT_THAT(help("evaluation.rollout.temperature"), StartsWith("evaluation.rollout.temperature: "));
}

TEST(Reference, SectionsMetricsAndPluginsAreExplainedToo) {
  EXPECT_THAT(help("rollout"),
              AllOf(HasSubstr("[rollout]  how responses are written"), HasSubstr("rollout `block`: ")));
  EXPECT_THAT(help("loss/clip_fraction"), HasSubstr("in     metrics.jsonl of a run\n"));
  EXPECT_THAT(help("rldf"), HasSubstr("algorithm `rldf`"));
  EXPECT_THAT(help("algorithm.name"),
              ContainsRegex("\n  one of +agrpo, bgpo, cj_grpo, coupled_grpo, d1, d2, dipo, ebpo, espo, "));
  EXPECT_THAT(help("train"), HasSubstr("keys of [train] in a run's file: drift config docs train\n"));
  EXPECT_THAT(help("reward"), HasSubstr("reward: mean over all responses of the rollout")) << "also a metric";
}

TEST(Reference, PrintedColumnsAreExplained) {
  for (const std::string column : {"held-out", "kl", "live", "utility", "grad", "lr", "rollout", "update", "tokens/s"})
    EXPECT_THAT(help(column), ContainsRegex("\n  in +the printed table of a run\n")) << column;
  EXPECT_THAT(help("live"), StartsWith("live: live_groups / groups: "));
}

TEST(Reference, ProgramsGetJson) {
  const auto json = [](const std::string& word) { return printed_json(drift("help " + word + " --json")); };
  const auto rate = json("learning_rate");
  EXPECT_THAT(rate.at("keys").dump(), AllOf(HasSubstr("\"section\":\"train\""), HasSubstr("\"section\":\"pretrain\"")));
  EXPECT_EQ(rate.at("keys").at(0).at("type"), "number");
  EXPECT_EQ(rate.at("metrics").at(0).at("in"), "metrics.jsonl");
  const auto temperature = json("rollout.temperature");
  EXPECT_EQ(temperature.at("keys").at(0).at("component"), "block");
  EXPECT_FALSE(temperature.contains("metrics"));
  EXPECT_EQ(json("train").at("sections").at(0).at("name"), "train");
  EXPECT_EQ(json("rldf").at("algorithms").at(0).at("name"), "rldf");
  EXPECT_THAT(drift("help learnin_rate --json").error, HasSubstr("did you mean `drift help learning_rate`?"));
}

TEST(Reference, AMisspeltWordIsAnsweredWithTheNearest) {
  const std::pair<const char*, const char*> mistakes[] = {{"trian", "drift train"},
                                                          {"learnin_rate", "drift help learning_rate"},
                                                          {"train.learnin_rate", "drift help train.learning_rate"},
                                                          {"rollout.lenght", "drift help rollout.length"},
                                                          {"loss/kll", "drift help loss/kl"}};
  for (const auto& [word, suggested] : mistakes)
    EXPECT_THAT(drift(std::string("help ") + word), mistake("did you mean `" + std::string(suggested) + "`?")) << word;
  EXPECT_THAT(drift("reference comands").error, HasSubstr("did you mean `commands`?"));
  EXPECT_THAT(drift("config docs rolout").error, HasSubstr("did you mean `rollout`?"));
}

TEST(Reference, ConfigDocsHasEverySectionAndWithOneItsComponents) {
  const auto all = drift("config docs");
  EXPECT_THAT(all, prints());
  for (const SectionSchema& section : config_sections()) {
    EXPECT_THAT(all.output, HasSubstr("[" + section.name));
    for (const Parameter& key : section.keys)
      EXPECT_THAT(all.output, ContainsRegex("\n  " + key.name + " +[a-z]")) << key.name;
  }
  EXPECT_THAT(all.output, ContainsRegex("\n  paths +list of paths +\\[\\] "));
  const auto losses = drift("config docs algorithm.loss").output;
  for (const ComponentEntry& entry : all_plugins().components()) {
    if (entry.kind != ComponentKind::kLossEstimator) continue;
    EXPECT_THAT(losses, HasSubstr("loss `" + entry.name + "`: " + entry.doc + "\n"));
  }
}

TEST(Reference, EveryValueOfASummaryAndOfAChangeIsExplained) {
  const TrainingRuns runs;
  ASSERT_EQ(runs.train("trained", "--steps 1").status, 0);
  const auto summary = runs.read_json("trained/summary.json");
  for (const auto& [key, value] : summary.items()) {
    if (key == "warnings") continue;  // texts
    for (const auto& [inner, ignored] : value.items())
      EXPECT_THAT(metric_names(), Contains(value.is_object() ? key + "." + inner : key));
  }
  ASSERT_EQ(runs.train("trained", "--resume --steps 2").status, 0);
  const auto change = runs.read_json("trained/changes.jsonl");
  EXPECT_EQ(change.at("key"), "train.steps");
  for (const auto& [key, ignored] : change.items()) EXPECT_THAT(metric_names(), Contains(key));
}

}  // namespace drift::reference_test
