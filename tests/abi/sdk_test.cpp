// The SDK as its users meet it: the installed tree, moved to another place, builds a plugin that was never part of this
// tree.

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/base/component_host.h>
#include <core/plugin/plugin_loader.h>
#include <core/plugin/plugin_report.h>

#include <drift/cached_forward.h>

#include <tests/support/training_run.h>

#include <regex>

namespace drift::sdk_test {

namespace fs = std::filesystem;
using namespace testing;

class Sdk : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    prefix_ = folder_->path() / "moved";
    const auto first = folder_->path() / "installed";
    const auto result = run(cmake() + " --install " + test::build_dir().string() + " --prefix " + first.string());
    ASSERT_EQ(result.status, 0) << result.error;
    fs::rename(first, prefix_);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string cmake() { return std::getenv("DRIFT_CMAKE"); }
  static fs::path library_folder() { return prefix_ / std::getenv("DRIFT_LIBRARY_FOLDER"); }
  static fs::path share() { return prefix_ / "share" / "drift"; }
  static fs::path program() { return prefix_ / "bin" / "drift"; }
  static test::CommandResult run(const std::string& command) { return test::run_command(command); }

  /// Build a project, as the examples' pages say, against the SDK under `prefix`.
  static test::CommandResult build(const fs::path& source, const fs::path& build, const fs::path& prefix) {
    return run(cmake() + " -S " + source.string() + " -B " + build.string() + " -DCMAKE_PREFIX_PATH=" +
               prefix.string() + " && " + cmake() + " --build " + build.string() + " --parallel 2");
  }

  /// What `drift sdk new` writes for a kind: its folder, after the build and the tests that its README names.
  static const fs::path& project(const std::string& kind) {
    static std::map<std::string, fs::path> projects;
    const auto [place, is_new] = projects.try_emplace(kind, folder_->path() / ("my_" + kind));
    if (!is_new) return place->second;
    const bool in_c = kind.ends_with("_in_c");
    const std::string what = kind.substr(0, kind.find("_in_c")) + (in_c ? " --language c" : "");
    const auto written =
        run("cd " + folder_->path().string() + " && " + program().string() + " sdk new " + what + " my_" + kind);
    EXPECT_EQ(written.status, 0) << written.error;
    const auto result = build(place->second, place->second / "build", prefix_);
    EXPECT_EQ(result.status, 0) << result.output << result.error;
    EXPECT_THAT(result.output + result.error, Not(HasSubstr("warning")));
    if (in_c) {
      EXPECT_THAT(test::read_file(place->second / "build/CMakeCache.txt"), Not(HasSubstr("orch")))
          << "LibTorch is not looked for";
    }
    return place->second;
  }
  static fs::path plugin(const std::string& kind) { return project(kind) / "build" / ("libmy_" + kind + ".so"); }

  /// The installed program, in the test's folder.
  static test::CommandResult drift(const std::string& arguments) {
    return run("cd " + folder_->path().string() + " && " + program().string() + " " + arguments);
  }

  static void expect_good_plugin(const fs::path& file, ComponentKind kind, const std::string& name) {
    EXPECT_EQ(run("nm -D --defined-only --format=just-symbols " + file.string()).output, "drift_plugin_entry\n");
    Registry registry;
    PluginLoader loader(registry);
    ASSERT_NO_THROW(loader.load_file(file));
    EXPECT_NE(registry.find(kind, name), nullptr);
  }

  static inline test::TemporaryFolder* folder_ = nullptr;
  static inline fs::path prefix_;
};

TEST_F(Sdk, HoldsHeadersLibraryPackageAndPlugins) {
  for (const auto& header : fs::directory_iterator(test::source_dir() / "core" / "include" / "drift")) {
    EXPECT_TRUE(fs::exists(prefix_ / "include" / "drift" / header.path().filename())) << header;
  }
  EXPECT_FALSE(fs::exists(prefix_ / "include" / "core")) << "the core's own headers are not part of the SDK";
  EXPECT_TRUE(fs::exists(library_folder() / "libdrift.so"));
  EXPECT_TRUE(fs::exists(library_folder() / "cmake" / "drift" / "driftConfig.cmake"));
  for (const auto& plugin : fs::directory_iterator(test::build_dir() / "lib" / "drift" / "plugins")) {
    EXPECT_TRUE(fs::exists(library_folder() / "drift" / "plugins" / plugin.path().filename())) << plugin;
  }
}

// As the first thing that an author includes. drift/pure.h is C99 and needs nothing but a compiler.
TEST_F(Sdk, EveryHeaderCompilesAloneAndWithoutAWarning) {
  const fs::path include = prefix_ / "include";
  const std::string options = " -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I" + include.string();
  const std::string torch = std::string(" -isystem ") + std::getenv("DRIFT_LIBTORCH_ROOT") + "/include";
  const auto all = run("ls " + (include / "drift").string() + " | xargs -P 2 -I NAME " + std::getenv("CXX") +
                       " -std=c++20" + options + torch + " -include drift/NAME -x c++ /dev/null");
  EXPECT_EQ(all.status, 0) << all.error;
  const auto in_c = run("gcc -std=c99" + options + " -include drift/pure.h -x c /dev/null");
  EXPECT_EQ(in_c.status, 0) << in_c.error;
}

// As the tree does, so that files and pages find each other.
TEST_F(Sdk, HoldsConfigurationsAndPages) {
  for (const char* file : {"configs/quickstart.toml", "assets/sudoku-llada/model.safetensors", "docs/sdk.md",
                           "plugins/tasks/sudoku/README.md", "scripts/fetch_data", "README.md"})
    EXPECT_TRUE(fs::exists(share() / file)) << file;
  static const std::regex link("\\]\\(([^)#: ]+)[)#]");
  int links = 0;
  for (const auto& entry : fs::recursive_directory_iterator(share())) {
    if (entry.path().extension() != ".md") continue;
    const std::string page = test::read_file(entry.path());
    for (std::sregex_iterator at(page.begin(), page.end(), link), end; at != end; ++at) {
      const auto target = (entry.path().parent_path() / (*at)[1].str()).lexically_normal();
      // Sources are in the tree alone.
      const std::string folder = target.lexically_relative(share()).begin()->string();
      if (folder != "docs" && folder != "configs" && folder != "assets" && folder != "sdk") continue;
      EXPECT_TRUE(fs::exists(target)) << entry.path() << " links to " << target;
      ++links;
    }
  }
  EXPECT_GT(links, 50);
}

TEST_F(Sdk, TheInstalledQuickstartIsComplete) {
  const auto result = drift("train " + (share() / "configs/quickstart.toml").string() + " --dry-run");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("Everything fits"), HasSubstr((share() / "assets/sudoku-llada").string())));
}

TEST_F(Sdk, FindsItsLibrariesInAnyFolder) {
  std::vector<fs::path> files;
  for (const char* library : {"libdrift.so", "libdrift_nn.so", "libdrift_core.so"})
    files.push_back(library_folder() / library);
  files.push_back(prefix_ / "bin" / "drift");
  for (const auto& plugin : fs::directory_iterator(library_folder() / "drift" / "plugins"))
    files.push_back(plugin.path());
  for (const fs::path& file : files) {
    const auto result = run("ldd " + file.string());
    EXPECT_THAT(result.output, Not(HasSubstr("not found"))) << file;
    EXPECT_THAT(result.output, Not(HasSubstr(test::build_dir().string()))) << file << " uses the build tree";
  }
}

const std::map<std::string, ComponentKind> kKinds = {{"loss", ComponentKind::kLossEstimator},
                                                     {"masking", ComponentKind::kMaskingStrategy},
                                                     {"reward", ComponentKind::kReward},
                                                     {"rollout", ComponentKind::kRollout},
                                                     {"task", ComponentKind::kTask},
                                                     {"model", ComponentKind::kModel},
                                                     {"algorithm", ComponentKind::kLossEstimator},
                                                     {"loss_in_c", ComponentKind::kLossEstimator},
                                                     {"reward_in_c", ComponentKind::kReward}};

// What somebody has who has typed the commands of the project's README.
TEST_F(Sdk, ANewProjectOfEachKindBuildsAndPassesItsTests) {
  for (const auto& [kind, component] : kKinds) {
    SCOPED_TRACE(kind);
    const fs::path folder = project(kind);
    expect_good_plugin(plugin(kind), component, "my_" + kind);
    const auto tested = run("ctest --test-dir " + (folder / "build").string());
    EXPECT_EQ(tested.status, 0) << tested.output;
    EXPECT_THAT(tested.output, HasSubstr("0 tests failed out of 2"));
    for (const char* file : {"CMakeLists.txt", "run.toml", "README.md", ".github/workflows/test.yml"})
      EXPECT_TRUE(fs::exists(folder / file)) << file;
    const std::string build_file = test::read_file(folder / "CMakeLists.txt");
    EXPECT_LE(std::ranges::count(build_file, '\n'), 15);
    for (const char* file : {"README.md", ".github/workflows/test.yml"})
      EXPECT_THAT(test::read_file(folder / file), Not(testing::ContainsRegex("[^$]\\{[A-Z]+\\}"))) << "not filled in";
  }
}

// Its run.toml, for two steps.
TEST_F(Sdk, ANewProjectOfEachKindTrains) {
  for (const auto& [kind, component] : kKinds) {
    SCOPED_TRACE(kind);
    const std::string folder = project(kind).string(), file = folder + "/run.toml";
    std::string base;
    if (kind == "task" || kind == "model") {
      const auto result = drift("pretrain " + file + " --steps 20 --out base_" + kind + " --set evaluation.every=0");
      ASSERT_EQ(result.status, 0) << result.error;
      base = " --model base_" + kind + "/checkpoints/last --set model.initialize=checkpoint";
    }
    const auto result = drift("train " + file + " --steps 2 --out run_" + kind + " --set evaluation.items=8" + base);
    ASSERT_EQ(result.status, 0) << result.error;
    const auto metrics = test::metrics_of(folder_->path() / ("run_" + kind));
    ASSERT_THAT(metrics, SizeIs(3));
    double gradient = 0;  // a step in which no group's rewards differ has none
    for (const int step : {1, 2}) {
      const auto& norm = metrics[step].at("grad_norm");
      gradient += norm.is_number() ? norm.get<double>() : 0;
    }
    EXPECT_GT(gradient, 0);
    EXPECT_THAT(test::read_file(folder_->path() / ("run_" + kind) / "plugins.json"), HasSubstr(plugin(kind).string()));
  }
}

// The command of its page: no CMake, and nothing of Drift but the header.
TEST_F(Sdk, BuildsALossInCByOneCommand) {
  const fs::path folder = share() / "sdk/examples/soft_clip_c";
  const std::string page = test::read_file(folder / "README.md");
  const auto begin = page.find("cc -std=c99");
  ASSERT_NE(begin, std::string::npos);
  const std::string command = page.substr(begin, page.find('\n', begin) - begin);
  const auto built = run("cd " + folder.string() + " && export PATH=" + program().parent_path().string() +
                         ":$PATH && mkdir -p build && " + command + " && drift plugin check build/libsoft_clip_c.so");
  EXPECT_EQ(built.status, 0) << command << "\n" << built.output << built.error;
}

TEST_F(Sdk, ANewProjectIsRefusedWhereItWouldHideSomething) {
  EXPECT_THAT(drift("sdk new loss rldf").error, HasSubstr("there is a plugin `rldf` already"));
  EXPECT_THAT(drift("sdk new los mine").error, HasSubstr("did you mean `loss`?"));
  EXPECT_THAT(drift("sdk new loss My-Loss").error, HasSubstr("small letters, digits and _"));
  EXPECT_THAT(drift("sdk new loss mine --language cobol").error, HasSubstr("languages: "));
  fs::create_directory(folder_->path() / "taken");
  const auto result = drift("sdk new loss taken");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("`taken` exists already"));
  EXPECT_TRUE(fs::is_empty(folder_->path() / "taken"));
}

TEST_F(Sdk, CompilesPresetsIntoAPluginOutOfTree) {
  const auto source = folder_->path() / "my_method";
  test::write_file(source / "CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(my_method LANGUAGES CXX)
find_package(drift REQUIRED)
drift_add_plugin(my_method plugin.cpp)
)");
  test::write_file(source / "plugin.cpp", R"(#include <drift/plugin.h>
DRIFT_PLUGIN("my_method", "1.0.0", "Apache-2.0") {
  registry.add_algorithm({.name = "my_method", .doc = "", .paper = "", .masking = "my_masking", .loss = "my_loss",
                       .presets = drift::plugin_presets("paper"), .plugin = {}});
}
)");
  const std::string text = "description = \"\u00e4s; published\"\n[train]\nsteps = 3  # \"${x}\" \\ @y@ [z]\n";
  test::write_file(source / "presets/paper.toml", text);
  test::write_file(source / "presets/other.toml", "description = \"misspelt\"\n[train]\nstpes = 4\n");
  const auto build = folder_->path() / "build_presets";
  const auto built = Sdk::build(source, build, prefix_);
  ASSERT_EQ(built.status, 0) << built.output << built.error;
  Registry registry;
  PluginLoader loader(registry);
  loader.load_file(build / "libmy_method.so");
  const auto& presets = registry.find_algorithm("my_method")->presets;
  ASSERT_THAT(presets, SizeIs(2));
  EXPECT_EQ(presets[0].name, "paper") << "the default";
  EXPECT_EQ(presets[0].origin, "my_method/presets/paper.toml");
  EXPECT_EQ(presets[0].text, text);
  EXPECT_THAT(declaration_mistakes(registry),
              testing::Contains("preset `other` of `my_method`: unknown key `stpes` in [train]    "
                                "(my_method/presets/other.toml:3)"));
  test::write_file(source / "presets/other.toml", "description = \"changed\"\n");
  ASSERT_EQ(Sdk::build(source, build, prefix_).status, 0);
  const auto table =
      run("DRIFT_PLUGIN_PATH=" + build.string() + " " + program().string() + " plugin info my_method --presets");
  EXPECT_THAT(table.output, HasSubstr("changed")) << table.error;
}

// A backbone of transformer blocks: LLaDA's description under another name, outside the tree.
TEST_F(Sdk, BuildsABackboneOutOfTree) {
  const auto source = folder_->path() / "my_backbone", build = folder_->path() / "build_backbone";
  fs::create_directory(source);
  fs::copy(test::source_dir() / "plugins/models/llada.toml", source / "my_backbone.toml");
  test::write_file(source / "CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(my_backbone LANGUAGES CXX)
find_package(drift REQUIRED)
drift_add_backbone(my_backbone)
)");
  const auto built = Sdk::build(source, build, prefix_);
  ASSERT_EQ(built.status, 0) << built.output << built.error;
  Registry registry;
  PluginLoader loader(registry);
  loader.load_file(build / "libmy_backbone.so");
  const ComponentEntry* entry = registry.find(ComponentKind::kModel, "my_backbone");
  const ModelConfig config{test::read_file(test::source_dir() / "tests/golden/data/ckpt/llada_a/config.json"),
                           at::kFloat, at::kMeta};
  const auto model = test::host().make(*entry, Parameters(entry->params), &config);
  EXPECT_NE(capability<CachedForward>(*model), nullptr);
}

TEST_F(Sdk, TheBuildTreeIsAlsoAnSdk) {
  const fs::path program = test::build_dir() / "bin/drift";
  const auto written = run("cd " + folder_->path().string() + " && " + program.string() + " sdk new loss of_the_tree");
  ASSERT_EQ(written.status, 0) << written.error;
  const auto folder = folder_->path() / "of_the_tree";
  const auto result = build(folder, folder / "build", test::build_dir());
  ASSERT_EQ(result.status, 0) << result.output << result.error;
  expect_good_plugin(folder / "build/libof_the_tree.so", ComponentKind::kLossEstimator, "of_the_tree");
  EXPECT_EQ(run("ctest --test-dir " + (folder / "build").string()).status, 0);
}

TEST_F(Sdk, TheInstalledProgramLoadsItsPluginsAndTheAuthorsOwn) {
  EXPECT_EQ(run(program().string() + " sdk --prefix").output, prefix_.string() + "\n");
  const auto list = drift("plugin list " + (project("loss") / "run.toml").string());
  EXPECT_EQ(list.status, 0) << list.error;
  EXPECT_THAT(list.output,
              AllOf(HasSubstr(plugin("loss").string()), HasSubstr((library_folder() / "drift/plugins").string()),
                    Not(HasSubstr(test::build_dir().string()))));
}

}  // namespace drift::sdk_test
