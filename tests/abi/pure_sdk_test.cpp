// Plugins over plain arrays as their authors meet them: copies of the examples, built against an installed Drift, by
// CMake and by one command, tested by their own tests, and used in a run.

#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

namespace drift::pure_sdk_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class PureSdk : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    prefix_ = folder_->path() / "installed";
    const auto result =
        test::run_command(cmake() + " --install " + test::build_dir().string() + " --prefix " + prefix_.string());
    ASSERT_EQ(result.status, 0) << result.error;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string cmake() { return std::getenv("DRIFT_CMAKE"); }
  static fs::path example(const std::string& name) { return prefix_ / "share/drift/sdk/examples" / name; }

  /// In the example's own folder, with the installed program in PATH, as its page says.
  static test::CommandResult run(const std::string& name, const std::string& command) {
    return test::run_command("cd " + example(name).string() + " && export PATH=" + (prefix_ / "bin").string() +
                             ":$PATH && " + command);
  }

  static void build_and_test(const std::string& name) {
    const auto built =
        run(name, cmake() + " -B build -DCMAKE_PREFIX_PATH=$(drift sdk --prefix) && " + cmake() + " --build build");
    ASSERT_EQ(built.status, 0) << built.output << built.error;
    EXPECT_THAT(built.output + built.error, Not(HasSubstr("warning")));
    EXPECT_THAT(test::read_file(example(name) / "build/CMakeCache.txt"), Not(HasSubstr("orch")))
        << "LibTorch is not looked for";
    const auto tested = run(name, "ctest --test-dir build --output-on-failure");
    EXPECT_EQ(tested.status, 0) << tested.output << tested.error;
    EXPECT_THAT(tested.output, HasSubstr("100% tests passed, 0 tests failed out of 2"));
    EXPECT_EQ(run(name, "nm -D --defined-only --format=just-symbols build/lib" + name + ".so").output,
              "drift_plugin_entry\n");
  }

  static void expect_training(const std::string& name) {
    const auto trained = run(name, "drift train run.toml --steps 2 --set evaluation.items=8 --out run");
    ASSERT_EQ(trained.status, 0) << trained.error;
    EXPECT_THAT(test::metrics_of(example(name) / "run"), SizeIs(3));
    EXPECT_THAT(test::read_file(example(name) / "run/plugins.json"), HasSubstr("lib" + name + ".so"));
  }

  static inline test::TemporaryFolder* folder_ = nullptr;
  static inline fs::path prefix_;
};

// The command of its page: no CMake, and nothing of Drift but the header.
TEST_F(PureSdk, ALossInCByOneCommand) {
  const std::string page = test::read_file(example("soft_clip_c") / "README.md");
  const auto begin = page.find("cc -std=c99");
  ASSERT_NE(begin, std::string::npos);
  const std::string command = page.substr(begin, page.find('\n', begin) - begin);
  const auto built =
      run("soft_clip_c", "mkdir -p build && " + command + " && drift plugin check build/libsoft_clip_c.so");
  EXPECT_EQ(built.status, 0) << command << "\n" << built.output << built.error;
}

TEST_F(PureSdk, ANewProjectBuildsPassesItsTestsAndTrains) {
  for (const std::string kind : {"loss", "reward"}) {
    const std::string name = "my_" + kind + "_in_c";
    SCOPED_TRACE(name);
    const auto made = run("", "drift sdk new " + kind + " " + name + " --language c");
    ASSERT_EQ(made.status, 0) << made.error;
    build_and_test(name);
    expect_training(name);
  }
}

}  // namespace
}  // namespace drift::pure_sdk_test
