// Plugins of earlier minor versions load for ever. Each is kept as the binary that its authors built, against the
// headers of its time: lab_1_0_x86_64.so is tests/third_party, built against core ABI 1.0.

#include <drift/abi.h>

#include <tests/support/support.h>

#include <core/base/component_host.h>
#include <core/io/sha256.h>
#include <core/plugin/plugin_loader.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kRecorded = test::source_dir() / "tests/abi/recorded/lab_1_0_x86_64.so";

// Recorded again for each LibTorch: a plugin over tensors needs the one that it was built with.
bool fits_this_build() {
#if defined(__x86_64__)
  return std::string(TORCH_VERSION) == "2.11.0" && DRIFT_BUILD_SANITIZERS == 0;
#else
  return false;
#endif
}

TEST(RecordedPlugin, IsTheOneThatWasRecorded) {
  EXPECT_EQ(sha256_of_file(kRecorded), "4ba3efe3fb81f3e645bfa5bd8f6f4feb23d223717fd615d11babf111a78a9dbb");
}

TEST(RecordedPlugin, RegistersEveryKindOfComponent) {
  if (!fits_this_build()) GTEST_SKIP() << "recorded for LibTorch 2.11.0 on x86_64, without sanitizers";
  Registry registry;
  PluginLoader(registry).load_file(kRecorded);
  for (const auto& [kind, name] : {std::pair{ComponentKind::kMaskingStrategy, "lab"},
                                   {ComponentKind::kLossEstimator, "lab"},
                                   {ComponentKind::kRollout, "lab"},
                                   {ComponentKind::kModel, "lab"},
                                   {ComponentKind::kTask, "reverse"},
                                   {ComponentKind::kReward, "reverse"}})
    EXPECT_NE(registry.find(kind, name), nullptr) << kind_name(kind);
  EXPECT_EQ(registry.find_bundle("lab")->presets.size(), 2u);
}

TEST(RecordedPlugin, KeepsEveryRuleInThisProgram) {
  if (!fits_this_build()) GTEST_SKIP() << "recorded for LibTorch 2.11.0 on x86_64, without sanitizers";
  const auto result =
      test::run_command((test::build_dir() / "bin/drift").string() + " plugin check " + kRecorded.string() +
                        " --model-config " + (test::source_dir() / "tests/third_party/start/config.json").string());
  EXPECT_EQ(result.status, 0) << result.output << result.error;
}

/// Its newest version of a library's symbols: "GLIBC_2.34".
std::string newest(const fs::path& file, const std::string& library) {
  const auto listed =
      test::run_command("objdump -T " + file.string() + " | grep -o '" + library + "_[0-9.]*' | sort -uV | tail -n 1");
  return listed.output.substr(0, listed.output.find('\n'));
}

/// {2, 34} of "GLIBC_2.34"
std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  std::istringstream parts(version.substr(version.find('_') + 1));
  for (std::string part; std::getline(parts, part, '.');) numbers.push_back(std::stoi(part));
  return numbers;
}

/// The plugins that ship, and the recorded one.
std::vector<fs::path> plugins() {
  std::vector<fs::path> files = {kRecorded};
  for (const auto& plugin : fs::directory_iterator(test::build_dir() / "lib/drift/plugins")) {
    if (plugin.path().extension() == ".so") files.push_back(plugin.path());
  }
  return files;
}

TEST(Plugins, ExportOneSymbol) {
  EXPECT_GT(plugins().size(), 10u);
  for (const fs::path& file : plugins()) {
    const auto exported = test::run_command("nm -D --defined-only --format=just-symbols " + file.string());
    EXPECT_EQ(exported.output, "drift_plugin_entry\n") << file;
  }
}

// The floor that docs/plugin_abi.md states: that of Debian 12's compiler, which the binaries that ship are built with.
TEST(SystemLibraries, NothingNeedsMoreThanTheStatedFloor) {
  std::vector<fs::path> files = plugins();
  files.push_back(test::build_dir() / "lib/libdrift.so");
  if (!fits_this_build()) files = {kRecorded};
  for (const fs::path& file : files) {
    for (const std::string floor : {"GLIBC_2.34", "GLIBCXX_3.4.30"}) {
      const std::string needed = newest(file, floor.substr(0, floor.find('_')));
      if (needed.empty()) continue;  // it uses none
      EXPECT_LE(numbers_of(needed), numbers_of(floor)) << file << " needs " << needed;
    }
  }
}

}  // namespace
}  // namespace drift
