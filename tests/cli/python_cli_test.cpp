// Components in Python in the real program: a run with one of them is the run with the same component in C++.

#include <tests/support/python.h>
#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <map>

namespace drift::python_cli_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class PythonCli : public test::TrainingRuns, public testing::Test {
 protected:
  static std::string example(const std::string& path) { return (test::source_dir() / "sdk/examples" / path).string(); }

  /// The program with a Python that has torch, if there is one.
  test::CommandResult with_python(const std::string& arguments) const {
    test::choose_python();
    return drift(arguments);
  }
};

TEST_F(PythonCli, TrainingWithSoftClipGivesTheNumbersOfTheCppOne) {
  if (test::python_with_torch().empty()) GTEST_SKIP() << test::kNoTorch;
  const std::string options = " --steps 3 --set train.inner_iterations=2 --set algorithm.loss.width=2.0 ";
  const auto in_python = with_python("train run.toml --out python" + options +
                                     "--set algorithm.loss.name=python --set algorithm.loss.file=" +
                                     example("soft_clip_python/soft_clip.py:SoftClip"));
  ASSERT_EQ(in_python.status, 0) << in_python.error;
  const auto in_cpp =
      test::run_command("export DRIFT_PLUGIN_PATH=" + (test::build_dir() / "tests/plugins").string() + "; " +
                        command("train run.toml --out cpp" + options + "--set algorithm.loss.name=soft_clip"));
  ASSERT_EQ(in_cpp.status, 0) << in_cpp.error;
  EXPECT_EQ(test::difference(run("python"), run("cpp")), "");
}

TEST_F(PythonCli, ARewardJudgesWithoutTorch) {
  test::write_file(path() / "responses.jsonl",
                   "{\"response\": \"kitten\", \"reference\": \"kitten\"}\n"
                   "{\"response\": \"sitting\", \"reference\": \"kitten\"}\n");
  const auto judged =
      with_python("reward python --in responses.jsonl --json --set reward.floor=0.25 --set reward.file=" +
                  example("near_match_python/near_match.py"));
  ASSERT_EQ(judged.status, 0) << judged.error;
  EXPECT_THAT(judged.output, AllOf(HasSubstr("equals the reference"), HasSubstr("3 of 7 bytes differ")));
}

TEST_F(PythonCli, ARunRecordsTheFile) {
  const std::string file = example("near_match_python/near_match.py");
  const auto trained = with_python(
      "train run.toml --out run --steps 1 --set reward.name=python --set reward.file=" + file + ":NearMatch");
  ASSERT_EQ(trained.status, 0) << trained.error;
  const auto sum = test::run_command("sha256sum " + file).output.substr(0, 64);
  for (const auto& plugin : nlohmann::json::parse(test::read_file(run("run") / "plugins.json"))) {
    if (plugin["name"] != "python") {
      EXPECT_FALSE(plugin.contains("files"));
      continue;
    }
    EXPECT_EQ(plugin["files"], nlohmann::json::parse(R"([{"path": ")" + file + R"(", "sha256": ")" + sum + "\"}]"));
  }
}

TEST_F(PythonCli, AFileThatHasChangedIsAnotherSetting) {
  const fs::path file = path() / "reward.py";
  fs::copy_file(example("near_match_python/near_match.py"), file);
  const std::string reward = " --set reward.name=python --set reward.file=reward.py:NearMatch";
  const auto trained = with_python("train run.toml --out run --steps 1" + reward);
  ASSERT_EQ(trained.status, 0) << trained.error;
  test::write_file(file, test::read_file(file) + "\n# changed\n");
  const auto resumed = with_python("train run.toml --out run --resume --steps 2" + reward);
  EXPECT_EQ(resumed.status, 1);
  EXPECT_THAT(resumed.error,
              AllOf(HasSubstr("was written with a different configuration"), HasSubstr("reward.file: content ")));
}

TEST_F(PythonCli, InfoPrintsWhatAFileDeclares) {
  const auto info = with_python("plugin info " + example("near_match_python/near_match.py:NearMatch"));
  ASSERT_EQ(info.status, 0) << info.error;
  EXPECT_THAT(info.output,
              AllOf(HasSubstr("reward `python`\n  Partial credit for a response that is similar to the reference."),
                    HasSubstr("truncated_earns"), testing::Not(HasSubstr("task `python`"))));
  const auto json =
      with_python("plugin info python --json --set reward.file=" + example("near_match_python/near_match.py"));
  EXPECT_THAT(json.output, HasSubstr("similarity from which a response earns something"));
}

// A package that is named torch, and says that it is another version. Its code must not run.
TEST_F(PythonCli, ADifferentTorchIsRefusedByName) {
  test::write_file(path() / "packages/torch/version.py", "__version__ = '1.0.0'\n");
  test::write_file(path() / "packages/torch/__init__.py", "print('THE OTHER TORCH RUNS')\n");
  test::write_file(path() / "loss.py", "import drift\nclass L(drift.Loss):\n    'A loss.'\n    coupling = 'view'\n");
  test::write_file(path() / "imports.py", "import torch\n");
  const std::string packages = "export PYTHONPATH=" + (path() / "packages").string() + "; ";
  for (const std::string file : {"loss.py", "imports.py"}) {
    const auto refused = test::run_command(
        packages + command("train run.toml --set algorithm.loss.name=python --set algorithm.loss.file=" + file));
    EXPECT_NE(refused.status, 0);
    EXPECT_THAT(refused.error, AllOf(HasSubstr("torch 1.0.0 of " + (path() / "packages/torch").string() +
                                               " is not the LibTorch " TORCH_VERSION " of this Drift"),
                                     HasSubstr("pip install torch==" TORCH_VERSION)));
    EXPECT_THAT(refused.output + refused.error, testing::Not(HasSubstr("THE OTHER TORCH RUNS")));
  }
}

TEST_F(PythonCli, WhereThereIsNoPythonItSaysWhatToInstall) {
  const std::string info = command("plugin info python --set reward.file=near_match.py");
  EXPECT_THAT(test::run_command("export DRIFT_PYTHON=/nowhere/python3; " + info).error,
              HasSubstr("DRIFT_PYTHON is /nowhere/python3, and there is no /nowhere/python3\n  = install python3"));
  EXPECT_THAT(test::run_command("export DRIFT_PYTHON=/bin/true; " + info).error,
              HasSubstr("/bin/true is not a Python that works"));
  EXPECT_THAT(test::run_command("unset DRIFT_PYTHON VIRTUAL_ENV; export PATH=/nowhere; " + info).error,
              HasSubstr("there is no Python: PATH has no python3"));
}

TEST_F(PythonCli, DoctorSaysWhichPythonItFound) {
  EXPECT_THAT(with_python("doctor").output, HasSubstr("`python`: Python 3."));
}

// The examples' own tests, which need no Drift but its module.
TEST_F(PythonCli, TheExamplesTestThemselves) {
  const std::string modules =
      "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + (test::build_dir() / "share/drift/sdk/python").string();
  for (const std::string name : {"near_match", "carry_sums", "soft_clip", "share_masks"}) {
    const bool needs_torch = name == "soft_clip" || name == "share_masks";
    if (needs_torch && test::python_with_torch().empty()) continue;
    const std::string program = needs_torch ? test::python_with_torch() : "python3";
    const auto tested =
        test::run_command("cd " + example(name + "_python") + " && " + modules + " " + program + " -m unittest");
    EXPECT_EQ(tested.status, 0) << name << tested.error;
    EXPECT_THAT(tested.error, HasSubstr("Ran "));
  }
}

// What its README says, in the program's own folder.
TEST_F(PythonCli, AProjectBeginsAsACopyOfAnExample) {
  for (const std::string kind : {"reward", "task", "loss", "masking"}) {
    SCOPED_TRACE(kind);
    if ((kind == "loss" || kind == "masking") && test::python_with_torch().empty()) continue;
    const auto written = with_python("sdk new " + kind + " my_" + kind + " --language python");
    ASSERT_EQ(written.status, 0) << written.error;
    const std::string own = test::program().parent_path().string(), python = test::python_with_torch();
    const std::string path_of_both = own + (python.empty() ? "" : ":" + fs::path(python).parent_path().string());
    const auto tested = test::run_command(
        "cd " + (path() / ("my_" + kind)).string() + " && export PATH=" + path_of_both +
        ":$PATH && export PYTHONPATH=$(drift sdk --prefix)/share/drift/sdk/python && python3 -m unittest && "
        "drift plugin check my_" +
        kind + ".py --rule deterministic && drift train run.toml --steps 1");
    EXPECT_EQ(tested.status, 0) << tested.output << tested.error;
    EXPECT_THAT(test::read_file(path() / ("my_" + kind) / "README.md"),
                HasSubstr("drift plugin check my_" + kind + ".py"));
  }
}

TEST_F(PythonCli, TheExamplesKeepTheRules) {
  for (const std::string name : {"near_match", "carry_sums", "soft_clip", "share_masks"}) {
    if ((name == "soft_clip" || name == "share_masks") && test::python_with_torch().empty()) continue;
    const std::string file = example(name + "_python/" + name + ".py");
    const auto checked = with_python("plugin check " + file + (name == "carry_sums" ? " --rule 'held out'" : ""));
    EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
    EXPECT_THAT(checked.output, testing::Not(HasSubstr("see `"))) << "a basic rule could not be tried";
    EXPECT_THAT(checked.output, HasSubstr("\nok: " + file + "\n"));
  }
}

TEST_F(PythonCli, ATracebackOfACheckHasItsLines) {
  test::write_file(path() / "bad.py", R"(import drift
class R(drift.Reward):
    """Divides."""
    def score(self, request):
        return drift.Verdict(1 / 0, False)
)");
  const auto checked = with_python("plugin check bad.py");
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.output, AllOf(HasSubstr("bad.py:5: ZeroDivisionError: division by zero\n      Traceback"),
                                    HasSubstr("\n        File \""), HasSubstr("\n1 finding\n")));
  // A constructor may refuse by a drift.Error; what else it raises is no refusal.
  test::write_file(path() / "worse.py", R"(import drift
class R(drift.Reward):
    """Needs a key."""
    def __init__(self, **values):
        super().__init__(**values)
        {}["key"]
)");
  const auto made = with_python("plugin check worse.py");
  EXPECT_THAT(made.output, AllOf(HasSubstr("constructor: worse.py:6: KeyError: 'key'\n"), HasSubstr("\n1 finding\n")));
}

// Two steps of each run.toml.
TEST_F(PythonCli, EachExampleRuns) {
  for (const std::string name : {"near_match", "carry_sums", "soft_clip", "share_masks"}) {
    SCOPED_TRACE(name);
    if ((name == "soft_clip" || name == "share_masks") && test::python_with_torch().empty()) continue;
    const std::string file = example(name + "_python/run.toml");
    const auto trained = with_python("train " + file + " --steps 2 --out " + name + " --set evaluation.items=4");
    EXPECT_EQ(trained.status, 0) << trained.error;
    EXPECT_EQ(test::metrics_of(run(name)).size(), 3u);
  }
}

TEST_F(PythonCli, CtrlCEndsARunAsAlways) {
  test::write_file(path() / "slow.py", R"(import drift, time
class R(drift.Reward):
    """Takes its time."""
    def score(self, request):
        time.sleep(0.02)
        return drift.Verdict(len(request.response) % 7 / 7, False)
)");
  test::RunningProgram running(
      path(), "train run.toml --out run --steps 1000 --set reward.name=python --set reward.file=slow.py");
  ASSERT_TRUE(running.wait_until([&] {
    return fs::exists(run("run") / "metrics.jsonl") && test::metrics_of(run("run")).size() > 1;
  })) << running.error();
  running.send(SIGINT);
  EXPECT_EQ(running.wait(), 130) << running.error();
  EXPECT_THAT(test::read_file(run("run") / "summary.json"), HasSubstr("interrupted"));
}

// Python's own `signal` would raise KeyboardInterrupt there, as `asyncio` would that restores it.
TEST_F(PythonCli, CtrlCWhilePythonStartsIsALine) {
  test::write_file(path() / "starts.py", R"(import asyncio, drift, signal, time
async def nothing(): pass
asyncio.run(nothing())
open("started", "w").close()
time.sleep(600)
)");
  test::RunningProgram running(path(), "train run.toml --out run --set reward.name=python --set reward.file=starts.py");
  ASSERT_TRUE(running.wait_until([&] { return fs::exists(path() / "started"); })) << running.error();
  running.send(SIGINT);
  EXPECT_EQ(running.wait(), 130);
  EXPECT_EQ(running.error(), "\ninterrupted\n");
}

TEST_F(PythonCli, ACallThatDoesNotReturnEndsAtTheSecondCtrlC) {
  test::write_file(path() / "hangs.py", R"(import drift, time
class R(drift.Reward):
    """Never returns."""
    def score(self, request):
        open("scoring", "w").close()
        time.sleep(600)
)");
  test::RunningProgram running(path(),
                               "train run.toml --out run --set evaluation.before=false --set reward.name=python --set "
                               "reward.file=hangs.py");
  ASSERT_TRUE(running.wait_until([&] { return fs::exists(path() / "scoring"); })) << running.error();
  running.send(SIGINT);
  EXPECT_TRUE(running.wait_until([&] {
    return running.error().find("stopping after this step, then saving; once more to exit immediately") !=
           std::string::npos;
  })) << running.error();
  running.send(SIGINT);
  EXPECT_EQ(running.wait(), 130);
}

}  // namespace
}  // namespace drift::python_cli_test
