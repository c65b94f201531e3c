// Configurations of other programs: what is read from YAML and scripts, and what a table may say of it.

#include <core/base/quote.h>
#include <core/import/import_run.h>

#include "tests/support/support.h"

#include <drift/error.h>

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace drift {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Imports : public testing::Test {
 protected:
  ForeignSettings settings(const std::string& name, const std::string& text,
                           const std::vector<std::string>& words = {}) {
    test::write_file(folder_.path() / name, text);
    return read_foreign_settings(folder_.path() / name, words);
  }

  ImportTable table(const std::string& rules) {
    test::write_file(folder_.path() / "table.toml",
                     "name = \"other\"\ntitle = \"Other\"\nrepository = \"example.org\"\nhas = [\"lr\"]\n" + rules);
    return read_import_table(folder_.path() / "table.toml");
  }

  /// "key = value" of every imported value.
  std::vector<std::string> imported(const std::string& rules, const std::string& yaml) {
    const ImportTable read = table(rules);
    run_ = import_run(read, settings("run.yaml", yaml));
    std::vector<std::string> lines;
    for (const ImportedValue& value : run_.values) lines.push_back(value.key + " = " + to_toml(value.value));
    return lines;
  }

  void expect_error(const std::function<void()>& call, const std::string& message) {
    try {
      call();
      ADD_FAILURE() << "no error: " << message;
    } catch (const Error& error) {
      EXPECT_THAT(std::string(error.what()) + "\n" + error.hint(), HasSubstr(message));
    }
  }

  test::TemporaryFolder folder_;
  ImportedRun run_;
};

TEST_F(Imports, YamlBecomesKeysWithPoints) {
  const auto read =
      settings("a.yaml", "# a comment\nlr: 1e-6\noptimizer:\n  betas: [0.9, 0.99]\n  name: ~\nlist:\n- x\n- y\n");
  EXPECT_EQ(read.find("lr")->text(), "1e-6");
  EXPECT_THAT(read.find("lr")->origin, testing::EndsWith("a.yaml:2 lr"));
  EXPECT_THAT(read.find("optimizer.betas")->texts, ElementsAre("0.9", "0.99"));
  EXPECT_TRUE(read.find("optimizer.name")->is_null());
  EXPECT_EQ(read.find("list")->text(), "x, y");
  EXPECT_EQ(read.find("nothing"), nullptr);
}

TEST_F(Imports, ReferencesOfYamlAreReplaced) {
  EXPECT_EQ(settings("a.yaml", "a: {lr: 2}\nb: ${a.lr}\n").find("b")->text(), "2");
  expect_error([&] { settings("a.yaml", "b: ${a.lr}\n"); }, "there is no key `a.lr`");
  EXPECT_EQ(settings("a.yaml", "b: ${b}\n").find("b")->text(), "${b}") << "a circle ends";
}

TEST_F(Imports, BrokenFilesAreNamedWithTheirLine) {
  expect_error([&] { settings("a.yaml", "a: 1\nb: [1\n"); }, "a.yaml:");
  expect_error([&] { settings("a.yaml", "a: 1\nb: [1\n"); }, "not valid YAML");
  expect_error([&] { settings("a.yaml", "just words\n"); }, "there are no keys in it");
  expect_error([&] { settings("a.sh", "python train.py --name \"open\n"); }, "a.sh:1: the quote is never closed");
  expect_error([&] { settings("a.sh", "# --nothing\necho done\n"); }, "there is no command with options");
  expect_error([&] { settings("a.txt", "words\n"); }, "neither YAML nor a shell script");
  expect_error([&] { read_foreign_settings(folder_.path() / "none.yaml", {}); }, "cannot read");
}

TEST_F(Imports, AliasesDoNotMakeABombOfAShortFile) {
  std::string text = "a0: &a0 {x: 1, y: 1}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string below = std::to_string(i - 1), own = std::to_string(i);
    text += "a" + own + ": &a" + own + " {x: *a" + below + ", y: *a" + below + "}\n";
  }
  expect_error([&] { settings("bomb.yaml", text); }, "too many values");
  expect_error([&] { settings("empty.yaml", replaced(text, "{x: 1, y: 1}", "{}")); }, "too much to read");

  std::string list = "a: &a [x", often = "a: &a " + std::string(500'000, 'x') + "\n", referred = often;
  for (int i = 0; i < 200'000; ++i) list += ", x";
  list += "]\n";
  for (int i = 0; i < 1'000; ++i) {
    list += "k" + std::to_string(i) + ": *a\n", often += "k" + std::to_string(i) + ": *a\n";
    referred += "k" + std::to_string(i) + ": ${a}\n";
  }
  expect_error([&] { settings("list.yaml", list); }, "too much to read");
  expect_error([&] { settings("text.yaml", often); }, "too much to read");
  expect_error([&] { settings("references.yaml", referred); }, "references repeat a large value too often");
}

TEST_F(Imports, VariablesDoNotMakeABombOfAShortScript) {
  std::string text = "A0=" + std::string(1000, 'x') + "\n";
  for (int i = 1; i < 40; ++i) {
    const std::string below = "$A" + std::to_string(i - 1);
    text += "A" + std::to_string(i) + "=" + below + below + "\n";
  }
  expect_error([&] { settings("bomb.sh", text + "python train.py --lr $A39\n"); }, "variables repeat a large part");
}

TEST_F(Imports, ACommandHasNotTensOfThousandsOfOptions) {
  std::string text = "python train.py";
  for (int i = 0; i < 60'000; ++i) text += " --k" + std::to_string(i) + " 1";
  expect_error([&] { settings("long.sh", text + "\n"); }, "the command has too many options");
}

TEST_F(Imports, HostileFilesAreRefused) {
  EXPECT_ANY_THROW(settings("deep.yaml", "a: " + std::string(100'000, '[')));
  EXPECT_ANY_THROW(settings("key.yaml", "a: ${" + std::string(500'000, 'x') + "}\n"));
  EXPECT_ANY_THROW(settings("large.yaml", "a: " + std::string(2'000'000, 'x')));
  const ForeignSettings bytes = settings("bytes.yaml", "lr: 1\nname: \"\\x01\\e[31m\"\n");
  EXPECT_EQ(bytes.find("name")->text().find('\x1b'), std::string::npos) << "no control character reaches the terminal";
  expect_error([&] { settings("run.sh", "python train.py --lr 1 --name \xff\n"); }, "is not UTF-8");
}

TEST_F(Imports, PatternsHaveStars) {
  EXPECT_TRUE(fits("GSAI-ML/Model-8B", "*model*"));
  EXPECT_TRUE(fits("", "*") && fits("", "") && fits("ab", "a*b*") && fits("aXbXb", "a*b"));
  EXPECT_FALSE(fits("ab", "a") || fits("", "a") || fits("axb", "a*c"));
  EXPECT_FALSE(fits(std::string(1'000'000, 'a'), "*b"));
}

TEST_F(Imports, AScriptsCommandGoesOverTheFileThatItNames) {
  test::write_file(folder_.path() / "base.yaml", "lr: 1\nsteps: 5\n");
  const auto read =
      settings("scripts/run.sh",
               "#!/bin/bash\nexport NAME=demo   # --comment 1\nTASK=${1:-sums}\nSTEPS=7\n"
               "launch --num_processes 8 \\\n  train.py --config base.yaml \\\n  --steps $STEPS --task=\"$TASK\" "
               "\\\n  --name '${NAME}' --out ${NAME}/x --flag > log 2>&1 | tee -a log\n  --lost 1\n");
  EXPECT_EQ(read.find("lr")->text(), "1");
  EXPECT_EQ(read.find("steps")->text(), "7");
  EXPECT_THAT(read.find("steps")->origin, testing::EndsWith("run.sh:7 --steps"));
  EXPECT_EQ(read.find("task")->text(), "sums");
  EXPECT_EQ(read.find("name")->text(), "${NAME}") << "in single quotes nothing is replaced";
  EXPECT_EQ(read.find("out")->text(), "demo/x");
  EXPECT_EQ(read.find("flag")->text(), "true");
  EXPECT_EQ(read.find("launcher.num_processes")->text(), "8");
  EXPECT_EQ(read.find("lost"), nullptr);
  EXPECT_THAT(read.remarks, ElementsAre(HasSubstr("run.sh:9 --lost 1: not part of the command")));
}

TEST_F(Imports, AMissingBaseIsAnError) {
  expect_error([&] { settings("run.sh", "python train.py --config none.yaml --lr 1\n"); },
               "goes over `none.yaml`, which is not there");
}

TEST_F(Imports, WordsAfterTheFileWin) {
  const auto read = settings("a.yaml", "lr: 1\nb: 2\nc: 3\n", {"--lr", "5", "b=6", "--c=7", "--d", "x", "y"});
  EXPECT_EQ(read.find("lr")->text(), "5");
  EXPECT_EQ(read.find("lr")->origin, "command line --lr");
  EXPECT_EQ(read.find("b")->text(), "6");
  EXPECT_EQ(read.find("c")->text(), "7");
  EXPECT_THAT(read.find("d")->texts, ElementsAre("x", "y"));
  expect_error([&] { settings("a.yaml", "lr: 1\n", {"5"}); }, "no option comes before `5`");
}

TEST_F(Imports, ValuesAreCopiedTranslatedAndCalculated) {
  EXPECT_THAT(imported(R"(
defaults = { devices = 2, decay = 0.5 }
rule = [
  { from = "lr", to = "train.learning_rate" },
  { from = "kind", to = "train.schedule", values = { flat = "constant" } },
  { from = "batch", to = "train.prompts_per_step", times = ["devices"], over = ["group"] },
  { from = "decay", to = "train.weight_decay" },
  { from = "files", to = "task.training_files", list = true, pattern = "data/{}.json" },
])",
                       "lr: 1e-3\nkind: flat\nbatch: 6\ngroup: 4\nfiles: [a, b]\n"),
              ElementsAre("train.learning_rate = 0.001", "train.schedule = \"constant\"", "train.prompts_per_step = 3",
                          "train.weight_decay = 0.5", "task.training_files = [\"data/a.json\", \"data/b.json\"]"));
  EXPECT_EQ(run_.values[3].origin, "not in the file: decay is 0.5 in Other");
  EXPECT_THAT(run_.left_out, IsEmpty());
  EXPECT_THAT(run_.unknown, IsEmpty());
}

TEST_F(Imports, ConditionsChooseTheRule) {
  const std::string rules = R"(
rule = [
  { from = "lr", to = "train.learning_rate", when = { kind = ["a*", "!ab"] } },
  { from = "lr", to = "value.learning_rate", when = { kind = "" } },
  { from = "kind", why = "no such thing" },
])";
  EXPECT_THAT(imported(rules, "lr: 1\nkind: AC\n"), ElementsAre("train.learning_rate = 1"));
  EXPECT_THAT(imported(rules, "lr: 1\n"), ElementsAre("value.learning_rate = 1"));
  EXPECT_THAT(imported(rules, "lr: 1\nkind: ab\n"), IsEmpty());
  ASSERT_EQ(run_.left_out.size(), 2u);
  EXPECT_THAT(run_.left_out[1].why + run_.left_out[0].why, HasSubstr("has no effect beside the other values"));
}

TEST_F(Imports, NothingIsDroppedInSilence) {
  imported(R"(
rule = [
  { from = "kind", to = "train.schedule", values = { flat = "constant" }, otherwise = "one of two" },
  { from = "batch", to = "train.prompts_per_step", over = ["group"] },
  { from = "log*", why = "kept anyway" },
])",
           "lr: 1\nkind: steep\nbatch: 5\ngroup: 2\nlogging: 3\n");
  EXPECT_THAT(run_.values, IsEmpty());
  ASSERT_EQ(run_.left_out.size(), 3u);
  EXPECT_EQ(run_.left_out[0].why, "one of two");
  EXPECT_THAT(run_.left_out[1].why, HasSubstr("5 / 2 is no whole number: set train.prompts_per_step yourself"));
  EXPECT_EQ(run_.left_out[2].why, "kept anyway");
  ASSERT_EQ(run_.unknown.size(), 1u);
  EXPECT_THAT(run_.unknown[0].what, HasSubstr("run.yaml:1 lr = 1"));
}

TEST_F(Imports, WhatARunStillNeedsIsSaid) {
  const std::string rules =
      "rule = [{ from = \"task\", set = { task.name = \"sums\", extends = [\"drift:configs/models/x.toml\"] } }]";
  imported(rules, "lr: 1\n");
  EXPECT_THAT(run_.needed, ElementsAre(HasSubstr("a task:"), HasSubstr("a model:")));
  imported(rules, "task: 1\n");
  EXPECT_THAT(run_.needed, IsEmpty());
}

TEST_F(Imports, MistakesOfATableAreNamed) {
  expect_error([&] { table("rule = [{ form = \"lr\" }]"); }, "did you mean `from`?");
  expect_error([&] { table("rule = [{ from = \"lr\" }]"); }, "a rule without a counterpart says `why`");
  expect_error([&] { table("rule = [{ why = \"x\" }]"); }, "a rule without `from` has `set`");
  expect_error([&] { table(""); }, "a table has [[rule]]");
  expect_error(
      [&] {
        imported("rule = [{ from = \"lr\", to = \"train.steps\" }, { from = \"b\", to = \"train.steps\" }]",
                 "lr: 1\nb: 2\n");
      },
      "two rules set `train.steps`");
}

TEST_F(Imports, TheTableIsFoundByKeysOrByName) {
  std::vector<ImportTable> tables = {table("rule = [{ from = \"lr\", to = \"train.learning_rate\" }]")};
  EXPECT_EQ(table_for(tables, settings("a.yaml", "lr: 1\n"), "").name, "other");
  EXPECT_EQ(table_for(tables, settings("a.yaml", "b: 1\n"), "other").name, "other");
  expect_error([&] { table_for(tables, settings("a.yaml", "b: 1\n"), ""); }, "say whose it is: --from other");
  expect_error([&] { table_for(tables, settings("a.yaml", "b: 1\n"), "othre"); }, "did you mean `other`?");
  tables.push_back(tables.front());
  tables.back().name = "another";
  expect_error([&] { table_for(tables, settings("a.yaml", "lr: 1\n"), ""); }, "say which: --from other|another");
}

}  // namespace
}  // namespace drift
