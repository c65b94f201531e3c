// A preset's notes on its values are printed for runs that use these values, and for no others.

#include <core/config/run_config.h>

#include <drift/registry.h>

#include "tests/support/config_folder.h"

namespace drift::preset_notes_test {

using namespace testing;

class PresetNotes : public testing::Test {
 protected:
  PresetNotes() {
    for (const auto& [kind, name] : {std::pair(ComponentKind::kMaskingStrategy, "states"),
                                     {ComponentKind::kLossEstimator, "gradient"},
                                     {ComponentKind::kModel, "net"},
                                     {ComponentKind::kRollout, "writer"},
                                     {ComponentKind::kReward, "judge"},
                                     {ComponentKind::kTask, "puzzle"}})
      registry_.add(kind, name, "of the test", {}, {});
    test::add_algorithm(registry_, "method", "states", "gradient",
                        {{"adapters", "adapters.toml", R"(description = "small changes"
train.learning_rate = 3e-6
train.group_size = 6
notes.train.learning_rate = "chosen\nfor adapters"
)"},
                         {"plain", "plain.toml", R"(description = "all weights"
extends = "adapters"
train.learning_rate = 1e-6
)"},
                         {"wide", "wide.toml", R"(description = "larger groups"
extends = "adapters"
train.group_size = 64
)"}});
  }

  RunConfig resolve(const std::string& more, const std::vector<std::string>& settings = {}) const {
    test::write_file(folder_.path() / "run.toml", R"(
model = { name = "net", initialize = "random" }
task.name = "puzzle"
reward.name = "judge"
rollout.name = "writer"
algorithm.name = "method"
)" + more);
    return resolve_config(load_document(folder_.path() / "run.toml", test::overrides_of(settings)), registry_,
                          ConfigPurpose::kTrain);
  }
  std::vector<std::string> notes(const std::string& more, const std::vector<std::string>& settings = {}) const {
    return resolve(more, settings).warnings();
  }

  Registry registry_;
  test::TemporaryFolder folder_;
};

TEST_F(PresetNotes, AreGivenOnAValueThatTheRunTakesFromThePreset) {
  const std::string said = "train.learning_rate = 3e-6 (preset adapters of method) was chosen for adapters";
  EXPECT_THAT(notes(""), ElementsAre(said)) << "the default preset";
  EXPECT_THAT(notes("algorithm.preset = \"adapters\"\ntrain.group_size = 4\n"), ElementsAre(said));
}

TEST_F(PresetNotes, AnAddedRewardMayDecideAlone) {
  const std::string added = "train.learning_rate = 3e-6\nreward.added.style.name = \"judge\"\n";
  EXPECT_THAT(notes(added),
              ElementsAre(AllOf(HasSubstr("reward.added.style: the rewards of a group in which nothing is"),
                                HasSubstr("filter.success_low = 0.01"))));
  for (const char* mend : {"filter.success_low=0.01", "filter.require_variance=false", "advantage.std=none"})
    EXPECT_THAT(notes(added, {mend}), IsEmpty()) << mend;
}

TEST_F(PresetNotes, AreNotPrintedForTheUsersOwnValue) {
  EXPECT_THAT(notes("train.learning_rate = 3e-6\n"), IsEmpty());
  EXPECT_THAT(notes("", {"train.learning_rate=1e-6"}), IsEmpty());
}

TEST_F(PresetNotes, AreInheritedWithTheValueOnly) {
  EXPECT_THAT(notes("algorithm.preset = \"plain\"\n"), IsEmpty());
  EXPECT_THAT(notes("algorithm.preset = \"wide\"\n"),
              ElementsAre("train.learning_rate = 3e-6 (preset wide of method) was chosen for adapters"));
}

TEST_F(PresetNotes, AreNotValues) {
  const std::string resolved = resolve("").resolved_toml();
  EXPECT_THAT(resolved, testing::Not(HasSubstr("[note")));
  EXPECT_THAT(resolved, HasSubstr("3e-6"));
}

}  // namespace drift::preset_notes_test
