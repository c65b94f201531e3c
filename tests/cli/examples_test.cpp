// What is printed can be typed: the examples of --help and the commands of the pages, from the root of the repository
// and in their order. Long ones are shortened by settings; where a model or data do not ship, the error must name them.

#include <tests/support/program.h>

#include <cctype>
#include <regex>

namespace drift::examples_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

/// What looks like the root of the repository with a build in it, and is not. It never has data/: its commands do the
/// same whether or not somebody fetched the data.
class Root : public ProgramFolder {
 public:
  Root() {
    for (const fs::directory_entry& entry : fs::directory_iterator(source_dir())) {
      const std::string name = entry.path().filename();
      if (name != "build" && name != "runs" && name != "data") fs::create_symlink(entry.path(), path(name));
    }
    fs::create_directory(path("build"));
    fs::create_symlink(build_dir(), path("build/release"));
  }

  CommandResult run(const std::string& command) const {
    write("command.sh", "export PATH=build/release/bin:$PATH\n" + command + "\n");
    return run_command("cd " + path().string() + " && bash command.sh");
  }
};

/// The commands between "example: " and the end of the help or an empty line.
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    inside = line.starts_with("example: ") || (inside && line.starts_with("         drift "));
    if (inside) examples.push_back(line.substr(9));
  }
  return examples;
}

constexpr const char* kEndOfTutorial = "## Kinds and languages";  // tutorial_test tries what stands before it

/// Everything that a page shows as a command of this program, without prompt and comment.
std::vector<std::string> commands_on(const fs::path& page) {
  static const std::regex kCommand(R"(^(?:    )?(?:\$ )?(?:build/release/bin/)?(drift .*?)(?:\s+#.*)?$)");
  std::vector<std::string> commands;
  std::string text = read_file(page);
  if (page.filename() == "sdk.md") text.erase(0, text.find(kEndOfTutorial));
  if (page.filename() == "backbones.md") return {};  // backbones_page_test tries all of it
  std::istringstream lines(text);
  bool fenced = false;
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    if ((fenced || line.starts_with("    ")) && std::regex_match(line, found, kCommand)) commands.push_back(found[1]);
  }
  return commands;
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found = {source_dir() / "README.md", source_dir() / "CONTRIBUTING.md"};
  for (const char* folder : {"docs", "plugins", "assets"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_dir() / folder)) {
      if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
  }
  std::ranges::sort(found.begin() + 2, found.end());
  return found;
}

/// The same command in seconds.
std::string shortened(const std::string& command) {
  const auto has = [&](const std::string& text) { return command.find(text) != std::string::npos; };
  if (has("--dry-run") || has("--report") || has("--help")) return command;
  if (command.starts_with("drift train"))
    return command + " --set train.steps=1 --set train.prompts_per_step=2 --set evaluation.items=4";
  if (command.starts_with("drift pretrain"))
    return command + " --set pretrain.steps=1 --set pretrain.batch_size=4 --set evaluation.items=4";
  if (command.starts_with("drift sweep") && !has("quick.toml")) return command + " --dry-run";
  if (command.starts_with("drift fidelity")) {
    const std::string few = std::regex_replace(command, std::regex("--draws [0-9]+"), "--draws 4");
    return has("--reference-views") ? few + " --set train.prompts_per_step=1" : few;
  }
  if (command.starts_with("drift claims ")) {
    const std::string one = std::regex_replace(command, std::regex(" --batches [0-9]+"), "") + " --batches 1";
    return has("--only") ? one : one + " --only entropy";
  }
  if (command.starts_with("drift eval ") && !has("eval diff")) return command + " --set evaluation.items=4";
  return command;
}

/// What the pages' examples stand on: names that a reader replaces by his own, and what earlier commands would have
/// made.
void prepare(const Root& root) {
  fs::create_symlink(source_dir() / "assets/sudoku-llada", root.path("DIR"));
  root.write("run.toml", "extends = [\"configs/quickstart.toml\"]\n");
  root.write("responses.jsonl", R"({"response": "so \\boxed{3/4}", "reference": "\\frac{6}{8}"})"
                                "\n");
  root.write("texts.jsonl", "{\"text\": \"0123\"}\n");
  ASSERT_THAT(root.run("drift train configs/quickstart.toml --steps 1 --set evaluation.items=4 --out runs/mine"),
              prints());
}

/// Models, data, programs and runs of hours that users have and the repository has not: a clear error says what is
/// missing.
bool lacks_what_does_not_ship(const CommandResult& result) {
  const std::string text = result.output + result.error;
  return (result.status == 1 || result.status == 2) && text.find("unknown") == std::string::npos &&
         std::ranges::any_of(
             std::vector<std::string>{"LLaDA-8B-Instruct", "Dream-v0-Instruct-7B", "/data/MATH", "runs/eval/paper/",
                                      "runs/word-problems-baselines", "needs `sbatch`"},
             [&](const std::string& name) { return text.find(name) != std::string::npos; });
}

TEST(Pages, CommandsWorkAsPrinted) {
  const Root root;
  ASSERT_NO_FATAL_FAILURE(prepare(root));
  int worked = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& command : commands_on(page)) {
      const auto result = root.run(shortened(command));
      EXPECT_TRUE(result.status == 0 || lacks_what_does_not_ship(result)) << page << "\n"
                                                                          << command << "\n"
                                                                          << result.status << "\n"
                                                                          << result.output << result.error;
      worked += result.status == 0;
    }
  }
  EXPECT_GT(worked, 40) << "nothing is found or nothing can be done";
}

/// Commands on pages that the test above leaves out, and what tries them instead.
struct LeftOut {
  std::string page;       ///< how its path begins; empty: any
  std::string beginning;  ///< of the command
  std::string tried;
};

const std::vector<LeftOut> kLeftOut = {
    {"docs/sdk.md", "export PYTHONPATH", "python_cli_test sets the same variables"},
    {"docs/sdk.md", "cd sdk/examples/near_match_python", "python_cli_test"},
    {"docs/sdk.md", "", "tutorial_test, as printed"},
    {"sdk/examples/", "", "sdk_test and python_cli_test build and run the examples, by commands of their own"},
    {"CONTRIBUTING.md", "cmake ", "whoever builds"},
    {"CONTRIBUTING.md", "ctest ", "whoever tests"},
    {"CONTRIBUTING.md", "scripts/make_site", "site_test"},
    {"CONTRIBUTING.md", "python3 -m http.server", "nothing: it ends by Ctrl-C"},
    {"README.md", "scripts/", "nothing: they set up the machine"},
    {"README.md", "pip ", "wheel_package, by commands of its own"},
    {"docs/data.md", "scripts/fetch_data", "fetch_data_test, by commands of its own"},
    {"docs/distributed.md", "mpirun ", "ranks_run_test, by commands of its own"},
    {"docs/distributed.md", "srun ", "slurm_ranks_test"},
    {"docs/runs.md", "source ", "completion_test"},
    {"docs/models.md", "hf ", "nothing: it downloads a model"},
    {"docs/packages.md", "",
     "wheel_package and deb_package, by commands of their own, and tests/packages/try_in_clean_root"},
    {"docs/plugin_abi.md", "gdb ", "nothing: it needs a process that has stopped"},
    {"docs/robustness.md", "tests/fuzz/run", "nothing: it takes minutes and clang"},
    {"plugins/rewards/math/math_answers/README.md", "cmake ", "math_answers_alone, by a command of its own"},
};

/// Lines of fenced blocks that a shell would run.
std::vector<std::string> shell_lines_on(const fs::path& page) {
  static const std::regex kShell(
      R"(^(?:\$ )?((?:[A-Z_]+=\S+ )*(?:\S*/)?(?:drift|cmake|ctest|mpirun|srun|sbatch|python3|pip|hf|gdb|cc|export|source|for|cd|time|scripts/\S+|tests/\S+|bench/\S+|build/\S+) .*?|(?:scripts|tests|bench)/\S+)(?:\s+#.*)?$)");
  std::vector<std::string> lines;
  std::istringstream text(read_file(page));
  bool fenced = false, is_toml = false;
  std::smatch found;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    if (line.starts_with("```")) is_toml = line == "```toml";
    if (fenced && !is_toml && std::regex_match(line, found, kShell)) lines.push_back(found[1]);
  }
  return lines;
}

TEST(Pages, EveryCommandIsTriedOrKnownNotToBe) {
  const std::vector<fs::path> tried_pages = pages();
  std::vector<fs::path> all = tried_pages;
  for (const auto& entry : fs::recursive_directory_iterator(source_dir() / "sdk/examples")) {
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  }
  std::set<const LeftOut*> used;
  for (const fs::path& path : all) {
    const std::string page = fs::relative(path, source_dir());
    const bool is_tried = std::ranges::count(tried_pages, path) > 0;
    for (const std::string& line : shell_lines_on(path)) {
      const bool is_ours = line.starts_with("drift ") || line.starts_with("build/release/bin/drift ");
      if (is_tried && is_ours) continue;
      const auto known = std::ranges::find_if(
          kLeftOut, [&](const LeftOut& one) { return page.starts_with(one.page) && line.starts_with(one.beginning); });
      EXPECT_NE(known, kLeftOut.end()) << page << ": nothing tries this command: " << line;
      if (known != kLeftOut.end()) used.insert(&*known);
    }
  }
  for (const LeftOut& one : kLeftOut)
    EXPECT_TRUE(used.contains(&one)) << one.page << " has no command " << one.beginning;
}

/// Hints name commands in the text of errors. This finds those that the program does not have.
TEST(Sources, NameNoCommandThatDoesNotExist) {
  const Root root;
  std::set<std::string> known = {"--help", "--version", "help", "completion", "reference"};
  std::istringstream overview(root.run("drift --help").output);
  for (std::string line, word; std::getline(overview, line);) {
    std::istringstream words(line);
    if (line.starts_with("  ") && words >> word) known.insert(word);
  }
  ASSERT_TRUE(known.contains("train"));
  static const std::regex kNamed(R"re((?:[`(]|"|  )drift ([a-z-]+)[ `)"])re");
  int named = 0;
  for (const char* folder : {"core", "plugins"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_dir() / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string text = read_file(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), kNamed), end; found != end; ++found, ++named)
        EXPECT_TRUE(known.contains((*found)[1])) << entry.path() << ": " << found->str();
    }
  }
  EXPECT_GT(named, 20);
}

TEST(Examples, WorkAsPrinted) {
  const Root root;
  std::istringstream overview(root.run("drift --help").output);
  std::vector<std::string> commands = examples_in(overview.str());
  ASSERT_EQ(commands, std::vector<std::string>{"drift train configs/quickstart.toml"});
  for (std::string line; std::getline(overview, line);) {
    if (!line.starts_with("  ")) continue;
    std::istringstream words(line);
    std::string name, word;
    // The name is one or two small words; two spaces or a word in capitals follow.
    words >> name >> word;
    if (line.find("  " + name + " " + word) == 0 && std::islower(static_cast<unsigned char>(word[0])))
      name += " " + word;
    const auto own = examples_in(root.run("drift help " + name).output);
    ASSERT_FALSE(own.empty()) << name;
    for (const std::string& command : own) {  // `drift help sdk` has those of `sdk new`, too
      if (std::ranges::count(commands, command) == 0) commands.push_back(command);
    }
  }
  ASSERT_GT(commands.size(), 22u);
  for (const std::string& command : commands) {
    const auto result = root.run(command);
    EXPECT_THAT(result, prints()) << command;
    EXPECT_NE(result.output, "") << command;
  }
}

}  // namespace drift::examples_test
