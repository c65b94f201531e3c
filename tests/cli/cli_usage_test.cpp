// What the program says to a command line: help, mistakes, exit status.

#include <tests/support/program.h>

#include <unistd.h>

namespace drift::cli_usage_test {

using namespace test;
using namespace testing;

CommandResult drift(const std::string& arguments) { return run_command(program().string() + " " + arguments); }

std::size_t count(const std::string& part, const std::string& text) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// A command as `drift --help` lists it: "plugin info", and its arguments.
struct Listed {
  std::string name;
  std::string argument;
};

const std::vector<Listed> kCommands = {
    {"train", "CONFIG.toml"},
    {"pretrain", "CONFIG.toml"},
    {"sweep", "SWEEP.toml"},
    {"eval", "CHECKPOINT_DIR"},
    {"eval diff", "RESULTS RESULTS"},
    {"claims", "CHECKPOINT_DIR"},
    {"report", "RUN..."},
    {"watch", "RUN..."},
    {"runs", "[FOLDER]"},
    {"fidelity", "CONFIG.toml"},
    {"generate", "CHECKPOINT_DIR"},
    {"plan", "RUN.toml"},
    {"rollout verify", "CHECKPOINT_DIR"},
    {"model info", "CHECKPOINT_DIR"},
    {"model verify", "CHECKPOINT_DIR"},
    {"model describe", "CHECKPOINT_DIR"},
    {"model merge", "CHECKPOINT_DIR"},
    {"model random", "SHAPE_DIR"},
    {"data check", "CONFIG.toml"},
    {"tokenize", "PATH"},
    {"plugin list", "[CONFIG.toml]"},
    {"plugin info", "NAME"},
    {"plugin check", "FILE"},
    {"reward", "NAME"},
    {"loss", "NAME"},
    {"config show", "CONFIG.toml"},
    {"config docs", "[SECTION]"},
    {"doctor", ""},
    {"sdk", ""},
    {"sdk new", "KIND NAME"},
};

/// What may be left out is in brackets.
bool needs_its_argument(const Listed& command) { return !command.argument.empty() && command.argument[0] != '['; }

TEST(CliUsage, HelpListsEveryCommandAndTeachesWithOneExample) {
  const auto help = drift("--help");
  EXPECT_THAT(help, prints("usage: drift COMMAND [options]", "\nexample: drift train configs/quickstart.toml\n"));
  EXPECT_EQ(count("example:", help.output), 1u);
  EXPECT_EQ(count("\n  ", help.output), kCommands.size()) << "a command that this test does not know:\n" << help.output;
  for (const Listed& command : kCommands) {
    const std::string shown = command.name + (command.argument.empty() ? "" : " " + command.argument);
    EXPECT_EQ(count("\n  " + shown + "  ", help.output), 1u) << shown;
  }
  for (const char* same : {"-h", "help"}) EXPECT_EQ(drift(same).output, help.output);
}

TEST(CliUsage, EveryCommandsHelpTeachesWithOneExample) {
  for (const Listed& command : kCommands) {
    SCOPED_TRACE(command.name);
    const auto help = drift(command.name + " --help");
    EXPECT_THAT(help, warns(IsEmpty()));
    // `drift eval --help` also explains `eval diff`, `drift sdk --help` also `sdk new`, ….
    const bool also_another = command.name == "eval" || command.name == "sdk";
    const std::size_t explained = also_another ? 2 : 1;
    EXPECT_EQ(count("\nexample: drift ", help.output), explained);
    EXPECT_EQ(count("\nusage: drift ", help.output), explained);
    EXPECT_THAT(help.output, StartsWith("drift " + command.name + ": "));
    EXPECT_THAT(help.output, ContainsRegex("\n(example:|        ) drift " + command.name));
  }
  const auto plugin = drift("plugin --help");
  for (const char* word : {"list", "info", "check"})
    EXPECT_EQ(count(std::string("\nusage: drift plugin ") + word, plugin.output), 1u) << word;
}

TEST(CliUsage, HelpIsAlsoAWordBeforeTheCommand) {
  for (const char* name : {"train", "plugin", "plugin info", "eval"}) {
    const auto help = drift(std::string("help ") + name);
    EXPECT_THAT(help, prints()) << name;
    EXPECT_NE(help.output, "") << name;
    EXPECT_EQ(help.output, drift(std::string(name) + " --help").output) << name;
  }
  EXPECT_THAT(drift("help trian"), mistake("did you mean `drift train`?"));
}

TEST(CliUsage, HelpSaysDefaultsAndWhatChangesTheFile) {
  EXPECT_THAT(drift("sweep --help").output, ContainsRegex("--jobs N +runs at a time[^\n]*; default: 1\n"));
  EXPECT_THAT(drift("model verify --help").output, ContainsRegex("--tolerance X +[^\n]*; default: 0.001\n"));
  EXPECT_THAT(drift("pretrain --help").output, HasSubstr("short for --set pretrain.steps="));
}

TEST(CliUsage, WithoutACommandTheHelpIsShown) {
  const auto result = drift("");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.output, HasSubstr("usage: drift COMMAND"));
}

TEST(CliUsage, AnUnknownCommand) {
  const auto result = drift("trian run.toml");
  EXPECT_THAT(result, mistake());
  EXPECT_EQ(
      result.error,
      "error: unknown command `trian`\n"
      "  = did you mean `drift train`?\n"
      "  = commands: train, pretrain, sweep, eval, claims, report, watch, runs, fidelity, generate, plan, rollout, "
      "model, data, tokenize, plugin, reward, loss, config, doctor, sdk    (drift --help)\n");
  EXPECT_THAT(drift("plugin lst").error, HasSubstr("did you mean `drift plugin list`?"));
  EXPECT_THAT(drift("config").error, HasSubstr("`drift config` expects one of: show, docs"));
}

TEST(CliUsage, AnUnknownOption) {
  EXPECT_THAT(
      drift("train run.toml --resme"),
      mistake(StartsWith(
          "error: unknown option `--resme` of `drift train`\n  = did you mean `--resume`?\n  = options: --set,")));
  EXPECT_EQ(drift("doctor --seed 3").status, 2);
}

/// A mistake of the command line: status 2, nothing but the message, and this in it.
void expect_mistake(const std::string& arguments, const std::string& message) {
  EXPECT_THAT(drift(arguments), mistake(StartsWith("error: "), message)) << arguments;
}

TEST(CliUsage, EveryCommandNeedsItsArgumentsAndNoMore) {
  for (const Listed& command : kCommands) {
    const std::string name = "`drift " + command.name + "`";
    const std::string example = "\n  = for example: drift " + command.name;
    if (needs_its_argument(command)) expect_mistake(command.name, name + " expects " + command.argument + example);
    if (command.argument.ends_with("...")) continue;  // as many as one likes
    std::string enough = " a";
    if (command.argument.empty()) enough = "";
    if (command.name == "eval diff") enough = " a b";
    if (command.name == "sdk new") enough = " loss b";
    expect_mistake(command.name + enough + " superfluous", name + " has no use for `superfluous`" + example);
  }
}

TEST(CliUsage, ExamplesNameModelsThatAreInstalled) {
  for (const std::string command : {"model merge", "model verify", "rollout verify"}) {
    const std::string name = "`drift " + command + "`";
    expect_mistake(command, name + " expects CHECKPOINT_DIR\n  = for example: drift " + command +
                                " tests/golden/data/ckpt/dream_a ");
  }
}

TEST(CliUsage, MissingAndSuperfluousValuesOfOptions) {
  expect_mistake("train a.toml --seed", "`drift train`: ");
  expect_mistake("train a.toml --seed 1 --seed 2", "`--seed` is given more than once");
  expect_mistake("generate c", "expects one of --prompt, --item, --token-ids and --in");
  expect_mistake("generate c --token-ids 1,x", "expects whole numbers from 0, such as 2,17,5, found `x`");
  expect_mistake("train a.toml --set train.steps", "--set expects KEY=VALUE");
  expect_mistake("sdk", "--prefix");
}

TEST(CliUsage, Version) { EXPECT_THAT(drift("--version"), prints("core ABI 1.", "LibTorch 2.11.0")); }

TEST(CliUsage, TheSdkIsAlsoInTheBuildFolder) {
  const auto result = drift("sdk --prefix");
  EXPECT_THAT(result, prints());
  EXPECT_EQ(result.output, std::filesystem::canonical(build_dir()).string() + "\n");
  EXPECT_EQ(drift("sdk").status, 2);
}

TEST(CliUsage, AProgramThatWasMovedAwaySaysWhereTheSdkComesFrom) {
  const ProgramFolder folder;
  std::filesystem::create_directory(folder.path("bin"));
  std::filesystem::create_directory(folder.path("lib"));
  std::filesystem::copy(program(), folder.path("bin/drift"));
  std::filesystem::copy(build_dir() / "lib/libdrift_program.so", folder.path("lib/libdrift_program.so"));
  EXPECT_THAT(run_command(folder.path("bin/drift").string() + " sdk --prefix"), fails("  = cmake --install "));
}

TEST(CliUsage, DoctorSaysWhatWorks) {
  const ProgramFolder folder;
  const auto result = folder.drift("doctor");
  EXPECT_EQ(result.error, "");
  // Every subject has a verdict and something to say.
  std::istringstream text(result.output);
  std::string subjects, last;
  bool problem = false;
  for (std::string line; std::getline(text, line); last = line) {
    if (line.starts_with("  ") || text.peek() == std::char_traits<char>::eof()) continue;  // what to do; the verdict
    EXPECT_THAT(line, ContainsRegex("^(ok|note|problem) +[A-Za-z]+ +[^ ]")) << result.output;
    problem = problem || line.starts_with("problem");
    std::string verdict, subject;
    std::istringstream(line) >> verdict >> subject;
    if (subject != "reward") subjects += subject + " ";  // one line for each that cannot judge here
  }
  EXPECT_EQ(subjects, "drift compiler LibTorch CUDA threads products ranks Python plugins rewards runs ")
      << result.output;
  EXPECT_EQ(result.status, problem ? 1 : 0) << result.output;
  EXPECT_EQ(last, problem ? "There are problems: see the lines that say so." : "Everything that is needed works.");

  EXPECT_THAT(result.output, HasSubstr(", " + program().string() + "\n"));
  EXPECT_THAT(result.output, HasSubstr("Python    drift_rl in " + (build_dir() / "share/drift/sdk/python").string() +
                                       "    (PYTHONPATH)\n"));
  const std::string loaded = "LibTorch  2.11.0, ";
  const auto at = result.output.find(loaded);
  ASSERT_NE(at, std::string::npos) << result.output;
  const auto begin = at + loaded.size();
  EXPECT_TRUE(std::filesystem::exists(result.output.substr(begin, result.output.find('\n', begin) - begin)));
  EXPECT_THAT(
      result.output,
      HasSubstr(
          "plugins   agrpo, bgpo, block, cj_grpo, code, countdown, countdown_task, coupled_grpo, d1, d2, dataset, "
          "described, diffusion, dipo, dream, dreamreasoner, ebpo, espo, fast_dllm_v2, format, gdpo, illada, llada, "
          "llada2, math, mdpo, python, qwen3_a2d, rldf, sdar, sdar_moe, spg, sudoku, sudoku_task, tracerl, unigrpo, "
          "vrpo, wd1, word_problems\n"));
  EXPECT_THAT(result.output, HasSubstr("runs      " + (std::filesystem::canonical(folder.path()) / "runs").string() +
                                       " (made by the first run)\n"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "it leaves nothing";
}

TEST(CliUsage, DoctorSaysWhereRunsCannotBeWritten) {
  if (geteuid() == 0) {
    // The superuser may write everywhere except where files are impossible.
    EXPECT_THAT(run_command("cd /proc && " + program().string() + " doctor"),
                finds("problem  runs      cannot write into /proc"));
    return;
  }
  EXPECT_THAT(run_command("cd / && " + program().string() + " doctor"),
              finds("problem  runs      cannot write into /"));
}

// Where no namespace may be made, as in many containers, model-written programs cannot be confined.
TEST(CliUsage, DoctorSaysWhyARewardCannotBeUsed) {
  const std::string forbid = "unshare --user --map-root-user sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && ";
  if (run_command(forbid + "true'").status != 0) GTEST_SKIP() << "namespaces cannot be limited here";
  EXPECT_THAT(run_command(forbid + program().string() + " doctor'"),
              prints("reward    `code` cannot be used here: ", "unsafe = true",
                     "countdown, format, math, sudoku: each can judge here"));
}

TEST(CliUsage, DoctorNamesARefusedPlugin) {
  const ProgramFolder folder;
  folder.write("libbroken.so", "not a library");
  EXPECT_THAT(folder.drift("doctor", "DRIFT_PLUGIN_PATH=."), finds("problem  plugin", "libbroken.so"));
}

TEST(CliUsage, PluginsAreListedExplainedAndChecked) {
  EXPECT_THAT(drift("plugin list"), prints("rldf"));
  const auto info = drift("plugin info rldf");
  EXPECT_THAT(info, prints("preset `paper`"));
  EXPECT_THAT(drift("plugin info rldff"), fails("`rldff`"));
  EXPECT_THAT(drift("plugin check " + (build_dir() / "lib/drift/plugins/librldf.so").string()), prints());
}

TEST(CliUsage, NoColourOutsideATerminal) {
  for (const char* arguments :
       {"trian", "train /nowhere.toml", "train --resme", "--help", "--version", "plugin list"}) {
    const auto result = drift(arguments);
    EXPECT_THAT(result.error + result.output, Not(HasSubstr("\033"))) << arguments;
    EXPECT_NE(result.error + result.output, "") << arguments;
  }
}

TEST(CliUsage, ASettingThatIsNotWrittenAsOneIsAnsweredWithItsSpelling) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"train run.toml train.steps=3", "--set train.steps=3"},
      {"eval checkpoint evaluation.samples=4", "--set evaluation.samples=4"},
      {"train run.toml --lr 1e-5", "--set train.learning_rate=VALUE"},
      {"pretrain run.toml --learning-rate 1e-5", "--set pretrain.learning_rate=VALUE"},
      {"train run.toml --train.group_size=3", "--set train.group_size=VALUE"},
      {"train run.toml --temperature 1", "--set rollout.temperature=VALUE"},
      {"train run.toml --stps 3", "--steps"}};
  for (const auto& [arguments, spelling] : mistakes)
    EXPECT_THAT(drift(arguments), mistake("did you mean `" + std::string(spelling) + "`?")) << arguments;
}

// The counterpart, without which the test above could not fail.
TEST(CliUsage, ColourOnATerminalUnlessDisabled) {
  if (run_command("script -qec true /dev/null").status != 0) GTEST_SKIP() << "no `script` to make a terminal with";
  const auto on_terminal = [](const std::string& environment, const std::string& arguments) {
    return run_command("env -u CI -u NO_COLOR TERM=xterm " + environment + " script -qec '" + program().string() + " " +
                       arguments + "' /dev/null")
        .output;
  };
  EXPECT_THAT(on_terminal("", "trian"), HasSubstr("\033[1;31merror\033[0m: unknown command"));
  EXPECT_THAT(on_terminal("", "train /nowhere.toml"), HasSubstr("\033["));
  EXPECT_THAT(on_terminal("NO_COLOR=1", "trian"), HasSubstr("error: unknown command"));
  EXPECT_THAT(on_terminal("NO_COLOR=1", "trian"), Not(HasSubstr("\033")));
}

TEST(CliUsage, AFullDiskIsAFailure) { EXPECT_EQ(drift("--help >/dev/full").status, 1); }

}  // namespace drift::cli_usage_test
