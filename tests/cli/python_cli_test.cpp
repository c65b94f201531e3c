// Components in Python in the real program: a run with one of them is the run with the same component in C++.

#include <tests/support/python.h>
#include <tests/support/training_run.h>

namespace drift::python_cli_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class PythonCli : public TrainingRuns, public Test {
 protected:
  static std::string example(const std::string& path) { return (source_dir() / "sdk/examples" / path).string(); }

  /// Those that can be tried here.
  static std::vector<std::string> examples() {
    if (python_with_torch().empty()) return {"near_match", "carry_sums"};
    return {"near_match", "carry_sums", "soft_clip", "share_masks"};
  }

  /// The program with a Python that has torch, if there is one.
  CommandResult with_python(const std::string& arguments) const {
    choose_python();
    return drift(arguments);
  }
};

TEST_F(PythonCli, TrainingWithSoftClipGivesTheNumbersOfTheCppOne) {
  if (python_with_torch().empty()) GTEST_SKIP() << kNoTorch;
  const std::string options = " --steps 3 --set train.inner_iterations=2 --set algorithm.loss.width=2.0 ";
  ASSERT_THAT(with_python("train run.toml --out python" + options +
                          "--set algorithm.loss.name=python --set algorithm.loss.file=" +
                          example("soft_clip_python/soft_clip.py:SoftClip")),
              prints());
  ASSERT_THAT(run_command("export DRIFT_PLUGIN_PATH=" + (build_dir() / "tests/plugins").string() + "; " +
                          command("train run.toml --out cpp" + options + "--set algorithm.loss.name=soft_clip")),
              prints());
  EXPECT_EQ(difference_of("python", "cpp"), "");
}

TEST_F(PythonCli, ARewardJudgesWithoutTorch) {
  write("responses.jsonl",
        "{\"response\": \"kitten\", \"reference\": \"kitten\"}\n"
        "{\"response\": \"sitting\", \"reference\": \"kitten\"}\n");
  ASSERT_THAT(with_python("reward python --in responses.jsonl --json --set reward.floor=0.25 --set reward.file=" +
                          example("near_match_python/near_match.py")),
              prints("equals the reference", "3 of 7 bytes differ"));
}

TEST_F(PythonCli, ARunRecordsTheFile) {
  const std::string file = example("near_match_python/near_match.py");
  ASSERT_THAT(with_python("train run.toml --out run --steps 1 --set reward.name=python --set reward.file=" + file +
                          ":NearMatch"),
              prints());
  const auto sum = run_command("sha256sum " + file).output.substr(0, 64);
  for (const auto& plugin : read_json("run/plugins.json")) {
    if (plugin["name"] != "python") {
      EXPECT_FALSE(plugin.contains("files"));
      continue;
    }
    EXPECT_EQ(plugin["files"], nlohmann::json::parse(R"([{"path": ")" + file + R"(", "sha256": ")" + sum + "\"}]"));
  }
}

TEST_F(PythonCli, AFileThatHasChangedIsAnotherSetting) {
  const fs::path file = path("reward.py");
  fs::copy_file(example("near_match_python/near_match.py"), file);
  const std::string reward = " --set reward.name=python --set reward.file=reward.py:NearMatch";
  ASSERT_THAT(with_python("train run.toml --out run --steps 1" + reward), prints());
  write_file(file, read_file(file) + "\n# changed\n");
  EXPECT_THAT(with_python("train run.toml --out run --resume --steps 2" + reward),
              fails("was written with a different configuration", "reward.file: content "));
}

TEST_F(PythonCli, InfoPrintsWhatAFileDeclares) {
  const auto info = with_python("plugin info " + example("near_match_python/near_match.py:NearMatch"));
  ASSERT_THAT(info, prints("reward `python`\n  Partial credit for a response that is similar to the reference.",
                           "truncated_earns", Not(HasSubstr("task `python`"))));
  const auto json =
      with_python("plugin info python --json --set reward.file=" + example("near_match_python/near_match.py"));
  EXPECT_THAT(json.output, HasSubstr("similarity from which a response earns something"));
}

// A package that is named torch, and says that it is another version. Its code must not run.
TEST_F(PythonCli, ADifferentTorchIsRefusedByName) {
  write("packages/torch/version.py", "__version__ = '1.0.0'\n");
  write("packages/torch/__init__.py", "print('THE OTHER TORCH RUNS')\n");
  write("loss.py", "import drift\nclass L(drift.Loss):\n    'A loss.'\n    coupling = 'view'\n");
  write("imports.py", "import torch\n");
  const std::string packages = "export PYTHONPATH=" + path("packages").string() + "; ";
  for (const std::string file : {"loss.py", "imports.py"}) {
    const auto refused = run_command(
        packages + command("train run.toml --set algorithm.loss.name=python --set algorithm.loss.file=" + file));
    EXPECT_NE(refused.status, 0);
    EXPECT_THAT(refused.error, AllOf(HasSubstr("torch 1.0.0 of " + path("packages/torch").string() +
                                               " is not the LibTorch " TORCH_VERSION " of this Drift"),
                                     HasSubstr("pip install torch==" TORCH_VERSION)));
    EXPECT_THAT(refused.output + refused.error, Not(HasSubstr("THE OTHER TORCH RUNS")));
  }
}

TEST_F(PythonCli, WhereThereIsNoPythonItSaysWhatToInstall) {
  const std::string info = command("plugin info python --set reward.file=near_match.py");
  EXPECT_THAT(run_command("export DRIFT_PYTHON=/nowhere/python3; " + info).error,
              HasSubstr("DRIFT_PYTHON is /nowhere/python3, and there is no /nowhere/python3\n  = install python3"));
  EXPECT_THAT(run_command("export DRIFT_PYTHON=/bin/true; " + info).error,
              HasSubstr("/bin/true is not a Python that works"));
  EXPECT_THAT(run_command("unset DRIFT_PYTHON VIRTUAL_ENV; export PATH=/nowhere; " + info).error,
              HasSubstr("there is no Python: PATH has no python3"));
}

TEST_F(PythonCli, DoctorSaysWhichPythonItFound) {
  EXPECT_THAT(with_python("doctor").output, HasSubstr("`python`: Python 3."));
}

// The examples' own tests, which need no Drift but its module.
TEST_F(PythonCli, TheExamplesTestThemselves) {
  const std::string modules =
      "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + (build_dir() / "share/drift/sdk/python").string();
  for (const std::string& name : examples()) {
    const bool needs_torch = name == "soft_clip" || name == "share_masks";
    const std::string program = needs_torch ? python_with_torch() : "python3";
    EXPECT_THAT(run_command("cd " + example(name + "_python") + " && " + modules + " " + program + " -m unittest"),
                warns("Ran "))
        << name;
  }
}

// What its README says, in the program's own folder.
TEST_F(PythonCli, AProjectBeginsAsACopyOfAnExample) {
  for (const std::string kind : {"reward", "task", "loss", "masking"}) {
    SCOPED_TRACE(kind);
    if ((kind == "loss" || kind == "masking") && python_with_torch().empty()) continue;
    ASSERT_THAT(with_python("sdk new " + kind + " my_" + kind + " --language python"), prints());
    const std::string own = program().parent_path().string(), python = python_with_torch();
    const std::string path_of_both = own + (python.empty() ? "" : ":" + fs::path(python).parent_path().string());
    EXPECT_THAT(
        run_command(
            "cd " + (path() / ("my_" + kind)).string() + " && export PATH=" + path_of_both +
            ":$PATH && export PYTHONPATH=$(drift sdk --prefix)/share/drift/sdk/python && python3 -m unittest && "
            "drift plugin check my_" +
            kind + ".py --rule deterministic && drift train run.toml --steps 1"),
        prints());
    EXPECT_THAT(read_file(path() / ("my_" + kind) / "README.md"), HasSubstr("drift plugin check my_" + kind + ".py"));
  }
}

TEST_F(PythonCli, TheExamplesKeepTheRules) {
  for (const std::string& name : examples()) {
    const std::string file = example(name + "_python/" + name + ".py");
    EXPECT_THAT(with_python("plugin check " + file + (name == "carry_sums" ? " --rule 'held out'" : "")),
                prints(Not(HasSubstr("see `")), "\nok: " + file + "\n"))
        << "a basic rule could not be tried";
  }
}

TEST_F(PythonCli, ATracebackOfACheckHasItsLines) {
  write("bad.py", R"(import drift
class R(drift.Reward):
    """Divides."""
    def score(self, request):
        return drift.Verdict(1 / 0, False)
)");
  EXPECT_THAT(
      with_python("plugin check bad.py"),
      finds("bad.py:5: ZeroDivisionError: division by zero\n      Traceback", "\n        File \"", "\n1 finding\n"));
  // A constructor may refuse by a drift.Error; what else it raises is no refusal.
  write("worse.py", R"(import drift
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
  for (const std::string& name : examples()) {
    SCOPED_TRACE(name);
    const std::string file = example(name + "_python/run.toml");
    EXPECT_THAT(with_python("train " + file + " --steps 2 --out " + name + " --set evaluation.items=4"), prints());
    EXPECT_EQ(metrics_in(name).size(), 3u);
  }
}

TEST_F(PythonCli, CtrlCEndsARunAsAlways) {
  write("slow.py", R"(import drift, time
class R(drift.Reward):
    """Takes its time."""
    def score(self, request):
        time.sleep(0.02)
        return drift.Verdict(len(request.response) % 7 / 7, False)
)");
  RunningProgram running(path(),
                         "train run.toml --out run --steps 1000 --set reward.name=python --set reward.file=slow.py");
  ASSERT_TRUE(running.wait_until([&] { return fs::exists(path("run/metrics.jsonl")) && metrics_in("run").size() > 1; }))
      << running.error();
  running.send(SIGINT);
  EXPECT_EQ(running.wait(), 130) << running.error();
  EXPECT_THAT(read("run/summary.json"), HasSubstr("interrupted"));
}

// Python's own `signal` would raise KeyboardInterrupt there, as `asyncio` would that restores it.
TEST_F(PythonCli, CtrlCWhilePythonStartsIsALine) {
  write("starts.py", R"(import asyncio, drift, signal, time
async def nothing(): pass
asyncio.run(nothing())
open("started", "w").close()
time.sleep(600)
)");
  RunningProgram running(path(), "train run.toml --out run --set reward.name=python --set reward.file=starts.py");
  ASSERT_TRUE(running.wait_until([&] { return fs::exists(path("started")); })) << running.error();
  running.send(SIGINT);
  EXPECT_EQ(running.wait(), 130);
  EXPECT_EQ(running.error(), "\ninterrupted\n");
}

TEST_F(PythonCli, ACallThatDoesNotReturnEndsAtTheSecondCtrlC) {
  write("hangs.py", R"(import drift, time
class R(drift.Reward):
    """Never returns."""
    def score(self, request):
        open("scoring", "w").close()
        time.sleep(600)
)");
  RunningProgram running(path(),
                         "train run.toml --out run --set evaluation.before=false --set reward.name=python --set "
                         "reward.file=hangs.py");
  ASSERT_TRUE(running.wait_until([&] { return fs::exists(path("scoring")); })) << running.error();
  running.send(SIGINT);
  EXPECT_TRUE(running.wait_until([&] {
    return running.error().find("stopping after this step, then saving; once more to exit immediately") !=
           std::string::npos;
  })) << running.error();
  running.send(SIGINT);
  EXPECT_EQ(running.wait(), 130);
}

}  // namespace drift::python_cli_test
