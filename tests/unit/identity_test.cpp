// Which settings make a run, its training and an evaluation's responses another one.

#include "tests/support/support.h"

#include <core/sweep/identity.h>

#include <drift/registry.h>

#include <tests/support/config_folder.h>

namespace drift::identity_test {

using namespace testing;

Registry make_registry() {
  Registry registry;
  test::add(registry, ComponentKind::kModel, "toy");
  test::add(registry, ComponentKind::kTask, "sums",
            {{"digits", 3, "digits"}, path("words_file", "", "words"), paths("files", "lists")});
  test::add(registry, ComponentKind::kReward, "sums",
            {{"prefix", "", "of an answer"}, path("table_file", "", "values")});
  test::add(registry, ComponentKind::kRollout, "blocks", {{"length", 20, "response positions"}});
  test::add(registry, ComponentKind::kMaskingStrategy, "plain", {{"k", 4, "contexts"}});
  test::add(registry, ComponentKind::kLossEstimator, "plain", {{"beta", 0.0, "of the KL"}});
  test::add_algorithm(registry, "plain", "plain", "plain");
  return registry;
}

class Identities : public test::ConfigFolder {
 protected:
  Identities() { write_run("run.toml", "plain"); }

  RunConfig config(const std::vector<std::string>& settings, ConfigPurpose purpose) const {
    return resolve_config(load_document(folder_.path() / "run.toml", test::overrides_of(settings)), registry_, purpose);
  }

  struct Keys {
    std::string run, training, responses;
  };
  Keys keys(const std::vector<std::string>& settings = {}) const {
    Identity identity;
    const RunConfig train = config(settings, ConfigPurpose::kTrain);
    return {identity.key(train, IdentityOf::kRun), identity.key(train, IdentityOf::kTraining),
            identity.key(config(settings, ConfigPurpose::kEval), IdentityOf::kResponses)};
  }

  static std::string compare(const Keys& before, const Keys& after) {
    std::string others;
    if (before.run != after.run) others += "run ";
    if (before.training != after.training) others += "training ";
    if (before.responses != after.responses) others += "responses ";
    return others;
  }
  /// What is another one under these settings.
  std::string changed_by(const std::vector<std::string>& settings) const { return compare(keys(), keys(settings)); }

  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  Registry registry_ = make_registry();
};

TEST_F(Identities, EachSettingCountsForWhatItDecides) {
  for (const char* setting : {"run.seed=1", "model.dtype=bfloat16", "task.digits=4", "prompt.system=Be brief.",
                              "reward.prefix=is", "reward.weight=2.0", "reward.after=is"})
    EXPECT_EQ(changed_by({setting}), "run training responses ") << setting;
  for (const char* setting :
       {"model.initialize=random", "task.max_prompt_tokens=9", "reward.truncation_is_wrong=true",
        "reward.truncation_margin=2", "algorithm.masking.k=5", "algorithm.loss.beta=0.5", "advantage.std=none",
        "filter.max_groups=2", "reference.mix=0.5", "train.group_size=4", "train.learning_rate=0.5"})
    EXPECT_EQ(changed_by({setting}), "run training ") << setting;
  for (const char* setting : {"evaluation.samples=2", "evaluation.rollout.length=8"})
    EXPECT_EQ(changed_by({setting}), "run responses ") << setting;
  // How held-out items are answered begins as a copy of how training responses are.
  EXPECT_EQ(changed_by({"rollout.length=8"}), "run training responses ");
  EXPECT_EQ(changed_by({"rollout.length=8", "evaluation.rollout.length=20"}), "run training ");
  for (const char* setting : {"run.device=cuda", "run.threads=3", "evaluation.every=2", "evaluation.items=2",
                              "evaluation.batch_size=2", "evaluation.before=false", "train.memory_budget_mib=2"})
    EXPECT_EQ(changed_by({setting}), "run ") << setting;
  for (const char* setting : {"run.name=other", "plugins.paths=[\"elsewhere\"]", "train.checkpoint_every=3",
                              "train.keep_checkpoints=3", "train.keep_best=true"})
    EXPECT_EQ(changed_by({setting}), "") << setting;
}

TEST_F(Identities, TrainingMayBecomeLongerUnlessItsLearningRateFallsTowardsTheEnd) {
  EXPECT_EQ(changed_by({"train.steps=7"}), "run ");
  const std::string falls = "train.schedule=linear";
  EXPECT_EQ(compare(keys({falls}), keys({falls, "train.steps=7"})), "run training ");
}

TEST_F(Identities, APathCountsByItsContentWhereverItLies) {
  write("words", "a b c");
  write("copy/words", "a b c");
  write("other", "a b d");
  const auto with = [&](const std::string& file) { return keys({"task.words_file=" + at(file)}); };
  EXPECT_EQ(compare(with("words"), with("copy/words")), "");
  EXPECT_EQ(compare(with("words"), with("other")), "run training ") << "the items are kept with the responses";
  const auto lists = [&](const std::string& file) {
    return keys({"task.files=[\"" + at("words") + "\", \"" + at(file) + "\"]"});
  };
  EXPECT_EQ(compare(lists("words"), lists("copy/words")), "");
  EXPECT_EQ(compare(lists("words"), lists("other")), "run training ");
  const auto judged_with = [&](const std::string& file) { return keys({"reward.table_file=" + at(file)}); };
  EXPECT_EQ(compare(judged_with("words"), judged_with("copy/words")), "");
  EXPECT_EQ(compare(judged_with("words"), judged_with("other")), "run training responses ");
}

TEST_F(Identities, OfACheckpointCountsWhatItIsMadeOfAndOfAnotherFolderEverything) {
  const Keys before = keys();
  write("checkpoint/notes.md", "words");
  EXPECT_EQ(compare(before, keys()), "");
  write("checkpoint/model.safetensors", "weights");
  EXPECT_EQ(compare(before, keys()), "run training ") << "the checkpoint's checksum is kept with the responses";

  write("tables/first/a.csv", "1,2");
  const std::vector<std::string> folder = {"reward.table_file=" + at("tables")};
  const Keys first = keys(folder);
  write("tables/first/a.csv", "1,3");
  EXPECT_EQ(compare(first, keys(folder)), "run training responses ");
}

TEST_F(Identities, ATextThatLooksLikeAPathIsAText) {
  write("words", "a b c");
  const Keys before = keys({"reward.prefix=" + at("words")});
  write("words", "a b d");
  EXPECT_EQ(compare(before, keys({"reward.prefix=" + at("words")})), "");
  EXPECT_EQ(changed_by({"reward.prefix=/answer"}), "run training responses ");
}

TEST_F(Identities, DifferencesAreToldByKey) {
  EXPECT_EQ(listed(differences({{"a.b", "1"}, {"a.c", "2"}, {"a.d", "3"}}, {{"a.b", "1"}, {"a.c", "4"}, {"a.e", "5"}})),
            "\n       a.c: 2 there, 4 here\n       a.d: 3 there, nothing here\n       a.e: nothing there, 5 here");
  EXPECT_THAT(differences({}, {}), IsEmpty());
  EXPECT_EQ(listed(std::vector<std::string>(9, "x")).substr(8 * 9), "\n       and 1 more");
}

}  // namespace drift::identity_test
