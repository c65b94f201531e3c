// A plugin of core ABI 1.0 loads in every later Drift of core ABI 1 and trains there. It is kept as a binary:
// recorded/tensor_1_0.cpp, built against the headers of its time.

#include <drift/abi.h>

#include <tests/support/support.h>
#include <tests/support/training_run.h>

#include <core/plugin/plugin_loader.h>

namespace drift::recorded_plugin_test {

namespace fs = std::filesystem;

const fs::path kRecorded = test::source_dir() / "tests/abi/recorded/tensor_1_0_x86_64.so";
const fs::path kStart = test::source_dir() / "sdk/examples/convnet/start";  // a config.json and a tokenizer

// Recorded again for each LibTorch: a plugin over tensors needs the one that it was built with.
bool fits_this_build() {
#if defined(__x86_64__)
  return std::string(TORCH_VERSION) == "2.11.0" && DRIFT_BUILD_SANITIZERS == 0;
#else
  return false;
#endif
}

// Of both tiers: neither is built again by accident.
TEST(RecordedPlugins, AreThoseThatWereRecorded) {
  const auto result =
      test::run_command("cd " + kRecorded.parent_path().string() + " && sha256sum --check --strict SHA256SUMS");
  EXPECT_EQ(result.status, 0) << result.output << result.error;
}

TEST(RecordedPlugin, RegistersEveryKindOfComponent) {
  if (!fits_this_build()) GTEST_SKIP() << "recorded for LibTorch 2.11.0 on x86_64, without sanitizers";
  Registry registry;
  PluginLoader(registry).load_file(kRecorded);
  for (const auto kind : {ComponentKind::kMaskingStrategy, ComponentKind::kLossEstimator, ComponentKind::kRollout,
                          ComponentKind::kModel, ComponentKind::kTask, ComponentKind::kReward})
    EXPECT_NE(registry.find(kind, "recorded"), nullptr) << kind_name(kind);
  EXPECT_EQ(registry.find_algorithm("recorded")->presets.size(), 2u);
}

TEST(RecordedPlugin, KeepsEveryRuleInThisProgram) {
  if (!fits_this_build()) GTEST_SKIP() << "recorded for LibTorch 2.11.0 on x86_64, without sanitizers";
  const auto result = test::run_command((test::build_dir() / "bin/drift").string() + " plugin check " +
                                        kRecorded.string() + " --model-config " + (kStart / "config.json").string());
  EXPECT_EQ(result.status, 0) << result.output << result.error;
}

// With no component of Drift's own.
TEST(RecordedPlugin, LearnsToReverseDigits) {
  if (!fits_this_build()) GTEST_SKIP() << "recorded for LibTorch 2.11.0 on x86_64, without sanitizers";
  const test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "plugins");
  fs::copy_file(kRecorded, folder.path() / "plugins/librecorded.so");
  std::string text = "[plugins]\npaths = [\"plugins\"]\n[run]\nname = \"run\"\nseed = 1\n[model]\npath = \"" +
                     kStart.string() + "\"\ninitialize = \"random\"\nname = \"recorded\"\n";
  for (const char* section : {"task", "reward", "algorithm", "rollout"})
    text += "[" + std::string(section) + "]\nname = \"recorded\"\n";
  test::write_file(folder.path() / "run.toml", text + R"(length = 4
[pretrain]
steps = 150
batch_size = 64
response_length = 4
learning_rate = 3e-3
warmup_steps = 10
[train]
steps = 10
[evaluation]
every = 10
[evaluation.rollout]
temperature = 0.0
)");
  const std::string drift = (test::build_dir() / "bin/drift").string();
  const auto result =
      test::run_command("cd " + folder.path().string() + " && " + drift + " pretrain run.toml --out base && " + drift +
                        " train run.toml --model base/checkpoints/last"
                        " --set model.initialize=checkpoint --out run");
  ASSERT_EQ(result.status, 0) << result.output << result.error;
  const auto metrics = test::metrics_of(folder.path() / "run");
  ASSERT_EQ(metrics.size(), 11u);
  EXPECT_GT(metrics.back().at("grad_norm").get<double>(), 0);
  EXPECT_GT(metrics.back().at("recorded/views").get<double>(), 0);
  EXPECT_GT(metrics.back().at("held_out").at("accuracy").get<double>(), 0.5);
  const auto plugins = nlohmann::json::parse(test::read_file(folder.path() / "run/plugins.json"));
  ASSERT_EQ(plugins.size(), 1u);
  EXPECT_EQ(plugins[0].at("name"), "recorded");
  EXPECT_EQ(plugins[0].at("version"), "1.0.0");
  EXPECT_EQ(plugins[0].at("licence"), "Apache-2.0");
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

}  // namespace drift::recorded_plugin_test
