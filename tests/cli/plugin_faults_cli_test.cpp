// Plugins that would end the process, and runs that cannot learn: what the program says, and how it ends. What the
// checks of calls say is in tests/abi/plugin_faults_test.cpp.

#include <tests/support/training_run.h>

#include <csignal>

namespace drift::plugin_faults_cli_test {

using namespace test;
using namespace testing;

class PluginFault : public Test, public ProgramFolder {
 protected:
  void SetUp() override {
    write("run.toml", R"([run]
seed = 1
threads = 1
[plugins]
paths = [")" + (build_dir() / "tests/plugins/libtest_faulty.so").string() +
                          R"("]
[model]
name = "faulty"
path = ")" + source("assets/sudoku-llada") +
                          R"("
initialize = "random"
[task]
name = "faulty"
[reward]
name = "faulty"
[rollout]
name = "faulty"
[algorithm]
name = "rldf"
[algorithm.masking]
name = "faulty"
[algorithm.loss]
name = "faulty"
[train]
steps = 2
prompts_per_step = 2
group_size = 2
)");
  }

  std::string arguments(const std::string& settings) const {
    std::string text = "train run.toml --out run";
    for (std::size_t begin = 0, end; begin < settings.size(); begin = end + 1) {
      end = std::min(settings.find(' ', begin), settings.size());
      text += " --set " + settings.substr(begin, end - begin);
    }
    return text;
  }
  /// @param settings  SECTION.KEY=VALUE, separated by spaces
  CommandResult train(const std::string& settings) const {
    std::filesystem::remove_all(path("run"));
    return run("", settings);
  }
  /// Without memory dumps, and without a sanitizer's own word on signals.
  CommandResult run(const std::string& environment, const std::string& settings) const {
    return run_command("cd " + path().string() + " && ulimit -c 0 && " + environment +
                       " ASAN_OPTIONS=$ASAN_OPTIONS:handle_segv=0:handle_abort=0:handle_sigfpe=0 " +
                       program().string() + " " + arguments(settings));
  }
  std::string log() const { return read("run/log.txt"); }
};

TEST_F(PluginFault, ARunOfWhatIsNotFaulty) {
  EXPECT_THAT(train(""), warns(IsEmpty()));
  const auto step = metrics_of(path("run")).at(1);
  EXPECT_EQ(step["loss/reward"], 1) << "the loss's own metric";
  EXPECT_LT(step["reward"], 1) << "what the rewards gave";
}

TEST_F(PluginFault, AnExceptionNamesTheStepAndTheInnermostCall) {
  EXPECT_THAT(train("model.fault=number"),
              fails("error: evaluation before the first step: model `faulty` of plugin `faulty`, "
                    "forward: it threw an exception of type `int`"));
  EXPECT_THAT(train("algorithm.loss.fault=libtorch"),
              fails("error: step 1: loss `faulty` of plugin `faulty`, evaluate: mat1 and mat2 shapes",
                    Not(HasSubstr("frame #"))));
  EXPECT_THAT(log(), HasSubstr("frame #"));
}

TEST_F(PluginFault, AFatalSignalLeavesALastWord) {
  struct Fault {
    const char* setting;
    int signal;
    const char* expected;
  };
  const std::vector<Fault> faults = {
      {"algorithm.loss.fault=wild", SIGSEGV, "step 1: loss `faulty` of plugin `faulty`, evaluate: "},
      {"algorithm.masking.fault=abort", SIGABRT, "step 1: masking strategy `faulty` of plugin `faulty`, plan: "},
      {"rollout.fault=overflow", SIGSEGV, "step 1: rollout `faulty` of plugin `faulty`, generate: "},
      {"model.fault=divide", SIGFPE, "step 1: model `faulty` of plugin `faulty`, forward: "},
      {"reward.fault=thread", SIGABRT, "step 1: reward `faulty` of plugin `faulty`, score: "},
      {"task.fault=segv", SIGSEGV, "step 1: task `faulty` of plugin `faulty`, training_item: "}};
  for (const auto& [setting, signal, expected] : faults) {
    const auto result = train(std::string("evaluation.before=false ") + setting);
    EXPECT_EQ(result.status, 128 + signal) << setting;
    const std::string word = expected + std::string("it ended the program by SIG");
    EXPECT_THAT(result.error, HasSubstr("error: " + word)) << setting;
    EXPECT_THAT(log(), HasSubstr(word)) << setting;
  }
}

TEST_F(PluginFault, ExitIsAnError) {
  EXPECT_THAT(train("algorithm.loss.fault=exit"),
              fails("error: step 1: loss `faulty` of plugin `faulty`, evaluate: it called exit()"));
  EXPECT_THAT(log(), HasSubstr("evaluate: it called exit()"));
}

TEST_F(PluginFault, WhileItRegisters) {
  const auto with = [&](const std::string& fault) { return run("DRIFT_FAULTY_REGISTRATION=" + fault, ""); };
  EXPECT_THAT(with("number").error,
              HasSubstr("plugin `faulty` failed to register: it threw an exception of type `int`"));
  const auto crash = with("wild");
  EXPECT_EQ(crash.status, 128 + SIGSEGV);
  EXPECT_THAT(crash.error, HasSubstr("error: plugin `faulty`, registration: it ended the program by SIGSEGV"));
  EXPECT_THAT(with("exit"), fails("error: plugin `faulty`, registration: it called exit()"));
}

TEST_F(PluginFault, RunsThatCannotLearnSaySoOnceAndHowOften) {
  const auto expect = [&](const std::string& settings, const std::string& where, const std::string& text) {
    const auto result = train(settings);
    EXPECT_THAT(result, prints("warning: " + where + text)) << settings;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = result.output.find(text, at)) != std::string::npos; ++at) ++count;
    EXPECT_EQ(count, 2) << settings << ": at first, and at the end";
    return read_json("run/summary.json")["warnings"];
  };
  EXPECT_EQ(expect("algorithm.masking.fault=no_views evaluation.before=false",
                   "step 1: ", "the masking strategy `faulty` gives no views"),
            nlohmann::json({{"the masking strategy `faulty` gives no views of these responses; there is nothing to "
                             "learn, the optimizer step is skipped",
                             2}}));
  expect("algorithm.loss.fault=zero", "step 1: ", "the loss `faulty` has no gradient, though advantages differ");
  expect("reward.fault=none_solved", "before the first step: ", "the model solves none of the held-out items");
  expect("reward.fault=solved_once", "step 2: ", "held-out accuracy fell to 0, and was not 0 before");
  EXPECT_THAT(train("model.fault=frozen"), fails("the model has no parameters to train"));
}

}  // namespace drift::plugin_faults_cli_test
