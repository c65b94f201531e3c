// Parameters that follow from others: a component of a script has those that its script declares
// (ComponentEntry::declaration). Here a script is a file that lists names of numbers.

#include <core/base/component_host.h>
#include <core/config/merge.h>
#include <core/config/run_config.h>

#include <tests/support/config_folder.h>

#include <sstream>

namespace drift::declaration_test {

using test::ConfigFolder;
using namespace testing;

ComponentDeclaration declared_by_script(const Parameters& params) {
  const auto file = file_of(params.get<std::string>("file"));
  if (!std::filesystem::exists(file))
    throw Error("there is no script " + file.filename().string() + "\nline two", "write it");
  ComponentDeclaration declaration;
  std::istringstream names(test::read_file(file));
  for (std::string name; names >> name;)
    declaration.params.emplace_back(name, 0.5, "a number of the script", between(0, 1));
  declaration.doc = "A script of " + std::to_string(declaration.params.size()) + " numbers.";
  return declaration;
}

class Declaration : public ConfigFolder {
 protected:
  Declaration() {
    test::add(registry_, ComponentKind::kModel, "toy");
    test::add(registry_, ComponentKind::kTask, "sums");
    test::add(registry_, ComponentKind::kRollout, "blocks");
    test::add(registry_, ComponentKind::kReward, "sums");
    test::add(registry_, ComponentKind::kMaskingStrategy, "steps");
    test::add(registry_, ComponentKind::kLossEstimator, "steps", {{"beta", 0.1, "a parameter"}});
    registry_.add(ComponentKind::kLossEstimator, "script", "A script.", {path("file", "", "the script")}, {},
                  declared_by_script);
    test::add_algorithm(registry_, "steps", "steps", "steps");
    write_run("base.toml", "steps");
    write("losses/mine.txt", "width gain");
  }

  RunConfig resolve(const std::string& text, const std::vector<std::string>& sets = {}) const {
    const auto file = write("run.toml", "extends = [\"base.toml\"]\n[algorithm.loss]\n" + text);
    return resolve_config(load_document(file, test::overrides_of(sets)), registry_, ConfigPurpose::kTrain);
  }

  Registry registry_;
};

TEST_F(Declaration, AddsParametersToThoseThatItFollowsFrom) {
  const Parameters loss =
      resolve("name = \"script\"\nfile = \"losses/mine.txt\"\nwidth = 1\n").section("algorithm.loss");
  EXPECT_EQ(loss.get<double>("width"), 1.0);
  EXPECT_EQ(loss.get<double>("gain"), 0.5) << "the declared default";
  EXPECT_EQ(loss.get<std::string>("file"), (folder_.path() / "losses/mine.txt").string());
}

TEST_F(Declaration, ItsParametersAreCheckedLikeAnyOther) {
  EXPECT_EQ(mistakes_in([&] { resolve("name = \"script\"\nfile = \"losses/mine.txt\"\nwdith = 1\ngain = 2.0\n"); }),
            "error: unknown parameter `wdith` of loss `script`\n"
            "  --> run.toml:5:1\n"
            "   |\n"
            " 5 | wdith = 1\n"
            "   | ^^^^^ did you mean `width`?\n"
            "   = parameters of `script`: file, width, gain    (drift plugin info script)\n"
            "\n"
            "error: `algorithm.loss.gain` must be in [0, 1]\n"
            "  --> run.toml:6:8\n"
            "   |\n"
            " 6 | gain = 2.0\n"
            "   |        ^^^\n"
            "   = `gain`: a number of the script; number, [0, 1], default 0.5\n");
}

TEST_F(Declaration, WhatItCannotBeReadFromIsAMistakeAtThatValue) {
  EXPECT_EQ(mistakes_in([&] { resolve("name = \"script\"\nfile = \"losses/yours.txt\"\nwidth = 1\n"); }),
            "error: there is no script yours.txt\n"
            "  --> run.toml:4:8\n"
            "   |\n"
            " 4 | file = \"losses/yours.txt\"\n"
            "   |        ^^^^^^^^^^^^^^^^^^\n"
            "   = line two\n"
            "   = write it\n")
      << "and no word on `width`, which may be right";
}

TEST_F(Declaration, WhatAnEarlierFileSetsStaysIfTheScriptTakesIt) {
  write("base.toml", test::read_file(folder_.path() / "base.toml") + "[algorithm.loss]\nbeta = 0.3\n");
  write("losses/mine.txt", "beta");
  const RunConfig config = resolve("name = \"script\"\nfile = \"losses/mine.txt\"\n");
  EXPECT_EQ(config.section("algorithm.loss").get<double>("beta"), 0.3);
  EXPECT_THAT(config.notes(), testing::IsEmpty());
}

TEST_F(Declaration, APathMayGoOnWithANameInTheFile) {
  const RunConfig config = resolve("name = \"script\"\nfile = \"losses/mine.txt:Half\"\n", {"algorithm.loss.gain=0"});
  EXPECT_EQ(config.section("algorithm.loss").get<std::string>("file"),
            (folder_.path() / "losses/mine.txt:Half").string());
  EXPECT_EQ(file_of("losses/mine.txt:Half"), "losses/mine.txt");
  EXPECT_EQ(file_of("losses/mine.txt"), "losses/mine.txt");
}

TEST_F(Declaration, TheResolvedFileAloneRepeatsTheRun) {
  const RunConfig config = resolve("name = \"script\"\nfile = \"losses/mine.txt\"\nwidth = 1\n");
  const auto again = write("again.toml", config.resolved_toml());
  const Parameters loss =
      resolve_config(load_document(again, {}), registry_, ConfigPurpose::kTrain).section("algorithm.loss");
  EXPECT_EQ(loss.values(), config.section("algorithm.loss").values());
}

TEST_F(Declaration, IsFoundForTheSectionThatNamesTheComponent) {
  const ComponentEntry& entry = *registry_.find(ComponentKind::kLossEstimator, "script");
  const auto written = [&](const std::vector<std::string>& sets) {
    return declared_entry(entry, merge_layers(load_document({}, test::overrides_of(sets)), registry_));
  };
  const std::string file = "algorithm.loss.file=" + (folder_.path() / "losses/mine.txt").string();
  const ComponentEntry declared = written({file});
  EXPECT_EQ(declared.doc, "A script of 2 numbers.");
  EXPECT_EQ(declared.params.size(), 3u);
  EXPECT_FALSE(declared.declaration) << "these are all";
  EXPECT_EQ(written({}).params.size(), 1u);
  EXPECT_EQ(written({file, "algorithm.loss.name=steps"}).params.size(), 1u) << "the section names another";
}

TEST_F(Declaration, AParameterHasOneDeclaration) {
  write("losses/mine.txt", "file");
  EXPECT_THAT(mistakes_in([&] { resolve("name = \"script\"\nfile = \"losses/mine.txt\"\n"); }),
              AllOf(HasSubstr("the loss declares the parameter `file` twice"), HasSubstr("run.toml:4:8")));
}

}  // namespace drift::declaration_test
