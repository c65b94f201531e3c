// Loading plugins, and the broken-plugin set: each gives one clear message, runs no code, and stops no other plugin.

#include <core/base/component_host.h>
#include <core/plugin/plugin_loader.h>

#include <drift/loss_estimator.h>

#include <tests/abi/plugin_files.h>
#include <tests/support/support.h>

#include "tests/support/plugins.h"

#include <elf.h>

#include <random>

namespace drift::plugin_loader_test {

namespace fs = std::filesystem;
using namespace testing;

class BrokenPlugin : public testing::Test {
 protected:
  void SetUp() override { unsetenv("DRIFT_PROBE_RAN"); }

  /// Load a file with this content; the message of the refusal, or "loaded".
  std::string load(const std::string& content) {
    const fs::path file = folder_.path() / ("libbroken_" + std::to_string(count_++) + ".so");
    test::write_file(file, content);
    Registry registry;
    PluginLoader loader(registry);
    try {
      loader.load_file(file);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file.string()));
      EXPECT_THAT(error.hint(), Not(IsEmpty()));
      EXPECT_THAT(registry.components(), IsEmpty());
      EXPECT_THAT(registry.algorithms(), IsEmpty());
      EXPECT_THAT(loader.loaded(), IsEmpty());
      return error.what();
    }
    return "loaded";
  }

  std::string load_with(const std::function<void(DriftPluginDescriptor&)>& change) {
    const std::string message = load(test::with_descriptor("test_probe", change));
    EXPECT_EQ(std::getenv("DRIFT_PROBE_RAN"), nullptr) << "code of a refused plugin ran";
    return message;
  }

  const std::string whole_ = test::read_file(test::built_plugin("test_probe"));
  test::TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(BrokenPlugin, TheUnchangedOneLoads) {
  EXPECT_EQ(load(whole_), "loaded");
  EXPECT_STREQ(std::getenv("DRIFT_PROBE_RAN"), "1");
}

TEST_F(BrokenPlugin, TheDescriptorOfAnotherBuildIsRefused) {
  struct Row {
    std::function<void(DriftPluginDescriptor&)> change;
    std::string says;
  };
  const std::vector<Row> rows = {
      {[](auto& plugin) { plugin.abi_major = 2; }, "core ABI  1.0        2.0"},
      {[](auto& plugin) { plugin.abi_minor = 1; }, "core ABI  1.0        1.1"},
      {[](auto& plugin) { std::strcpy(plugin.libtorch_version, "2.9.1"); }, "LibTorch  " TORCH_VERSION "     2.9.1"},
      {[](auto& plugin) { plugin.cxx_abi_version = 1002; }, "compiler ABI"},
      {[](auto& plugin) { plugin.cxx11_abi = 0; }, "C++11 strings  on         off"},
      {[](auto& plugin) { std::strcpy(plugin.standard_library, "libc++"); }, "C++ library  libstdc++  libc++"},
      {[](auto& plugin) { plugin.tier = 3; }, "tier   tensor     unknown (3)"},
      {[](auto& plugin) { plugin.tier = DRIFT_TIER_PURE; }, "descriptor  224 bytes  320 bytes"},
      {[](auto& plugin) { plugin.struct_size = 64; }, "descriptor  320 bytes  64 bytes"},
      {[](auto& plugin) { plugin.struct_size = 4; }, "holds no valid descriptor"},
      {[](auto& plugin) { plugin.struct_size = 1 << 20; }, "holds no valid descriptor"},  // longer than its section
      {[](auto& plugin) { plugin.magic[0] = 'd'; }, "holds no valid descriptor"}};
  for (const Row& row : rows) EXPECT_THAT(load_with(row.change), HasSubstr(row.says));
  EXPECT_THAT(load_with(rows.front().change), StartsWith("plugin `probe` was built for another Drift"));
}

TEST_F(BrokenPlugin, NoDescriptor) {
  EXPECT_THAT(load(test::read_file(test::build_dir() / "tests" / "plugins" / "libplain_library.so")),
              AllOf(HasSubstr("is not a plugin"), HasSubstr("without a DRIFT_PLUGIN")));
}

TEST_F(BrokenPlugin, TruncatedAnywhere) {
  for (std::size_t length = 0; length < whole_.size(); length += length < 256 ? 1 : 61) {
    EXPECT_THAT(load(whole_.substr(0, length)), AnyOf(HasSubstr("is not a plugin"), HasSubstr("is damaged"))) << length;
  }
  EXPECT_THAT(load(whole_.substr(0, whole_.size() - 1)), HasSubstr("is damaged"));
  EXPECT_EQ(std::getenv("DRIFT_PROBE_RAN"), nullptr);
}

TEST_F(BrokenPlugin, RandomBytes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    std::string bytes(1 + random() % 20000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_THAT(load(bytes), HasSubstr("is not a plugin"));
    // The same noise after a plausible start.
    bytes.replace(0, 20, whole_.substr(0, 20));
    EXPECT_THAT(load(bytes), AnyOf(HasSubstr("is not a plugin"), HasSubstr("is damaged")));
  }
}

TEST_F(BrokenPlugin, WrongNumbersInTheHeader) {
  // Any value in any header field that the reader follows: an error or, where the field does not matter, a plugin.
  Elf64_Ehdr header;
  std::memcpy(&header, whole_.data(), sizeof(header));
  std::mt19937 random(2);
  const auto load_with_header = [&](const Elf64_Ehdr& changed) {
    std::string bytes = whole_;
    std::memcpy(bytes.data(), &changed, sizeof(changed));
    return load(bytes);
  };
  const std::vector<std::function<void(Elf64_Ehdr&)>> changes = {
      [&](auto& changed) { changed.e_shoff = (static_cast<std::uint64_t>(random()) << 32 | random()) | 1; },
      [&](auto& changed) { changed.e_shstrndx = static_cast<std::uint16_t>(header.e_shnum + random() % 1000); },
      [&](auto& changed) { changed.e_shnum = static_cast<std::uint16_t>(header.e_shnum + 1 + random() % 60000); },
      [&](auto& changed) { changed.e_phnum = static_cast<std::uint16_t>(60000 + random() % 5000); }};
  for (int trial = 0; trial < 50; ++trial) {
    for (const auto& change : changes) {
      Elf64_Ehdr changed = header;
      change(changed);
      EXPECT_THAT(load_with_header(changed), HasSubstr("is damaged"));
    }
  }
}

TEST_F(BrokenPlugin, TextFile) {
  EXPECT_THAT(load("#include <drift/plugin.h>\n"), HasSubstr("is not a plugin: the file is not a shared library"));
  EXPECT_THAT(load("x"), HasSubstr("is not a plugin"));
  EXPECT_THAT(load(""), HasSubstr("is not a plugin"));
}

TEST_F(BrokenPlugin, FileOfAnotherKind) {
  std::string bytes = whole_;
  bytes[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_RISCV);
  EXPECT_THAT(load(bytes), AllOf(HasSubstr("built for another machine"), HasSubstr("64-bit riscv")));
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(load(bytes), HasSubstr("it is for a 32-bit machine"));
  bytes[EI_CLASS] = ELFCLASS64;
  bytes[EI_DATA] = ELFDATA2MSB;
  EXPECT_THAT(load(bytes), HasSubstr("it is for the other byte order"));
  bytes = whole_;
  bytes[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
  EXPECT_THAT(load(bytes), HasSubstr("not a shared library"));
}

TEST_F(BrokenPlugin, NoFileAndNoPermission) {
  Registry registry;
  PluginLoader loader(registry);
  EXPECT_THROW(loader.load_file(folder_.path() / "missing.so"), Error);
  EXPECT_THROW(loader.load_file(folder_.path()), Error);
}

TEST_F(BrokenPlugin, ARegistrationThatThrowsLeavesNothing) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"error", "the weights are missing"}, {"standard", "index 7"}, {"number", "it threw an exception of type `int`"}};
  for (const auto& [how, why] : cases) {
    setenv("DRIFT_PROBE_MISBEHAVE", how.c_str(), 1);
    EXPECT_THAT(load(whole_), StartsWith("plugin `probe` failed to register: " + why + "\n  --> "));
  }
  unsetenv("DRIFT_PROBE_MISBEHAVE");
}

TEST_F(BrokenPlugin, DoesNotStopTheOthersInItsFolder) {
  fs::copy(test::built_plugin("test_soft_clip"), folder_.path() / "libz.so");
  test::write_file(folder_.path() / "liba.so", "not a plugin");
  test::write_file(folder_.path() / "readme.txt", "not looked at");
  Registry registry;
  PluginLoader loader(registry);
  loader.load_folder({folder_.path(), "DRIFT_PLUGIN_PATH"});
  ASSERT_THAT(loader.loaded(), SizeIs(1));
  EXPECT_EQ(loader.loaded()[0].name, "soft_clip");
  ASSERT_THAT(loader.refused(), SizeIs(1));
  EXPECT_EQ(loader.refused()[0].path, folder_.path() / "liba.so");
  EXPECT_EQ(loader.refused()[0].message, "`liba.so` is not a plugin: the file is not a shared library (ELF)\n  --> " +
                                             (folder_.path() / "liba.so").string() +
                                             "\n   = a plugin is a shared library made by drift_add_plugin()");
}

class Loading : public testing::Test {
 protected:
  SearchPath here() const { return {folder.path(), "DRIFT_PLUGIN_PATH"}; }
  test::TemporaryFolder folder;
  Registry registry;
  PluginLoader loader{registry};
};

TEST_F(Loading, RegistersWhatAPluginBrings) {
  loader.load_file(test::built_plugin("test_soft_clip"));

  ASSERT_THAT(loader.loaded(), SizeIs(1));
  const LoadedPlugin& plugin = loader.loaded()[0];
  EXPECT_EQ(plugin.name, "soft_clip");
  EXPECT_EQ(plugin.version, "1.0.0");
  EXPECT_EQ(plugin.licence, "Apache-2.0");
  EXPECT_EQ(plugin.tier, "tensor");
  EXPECT_EQ(plugin.path, fs::canonical(test::built_plugin("test_soft_clip")));
  EXPECT_EQ(plugin.warning, "");
  const auto checksum = test::run_command("sha256sum " + plugin.path.string());
  EXPECT_EQ(plugin.sha256, checksum.output.substr(0, 64));

  const ComponentEntry* entry = registry.find(ComponentKind::kLossEstimator, "soft_clip");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->plugin, "soft_clip");
  const auto component = test::host().make(*entry, Parameters(entry->params));
  const auto* loss = dynamic_cast<const LossEstimator*>(component.get());
  ASSERT_NE(loss, nullptr) << "the host asks for interfaces by dynamic_cast";
  EXPECT_EQ(loss->coupling(), Coupling::kView);
}

TEST_F(Loading, KeepsTypeAndHintOfAComponentsExceptions) {
  loader.load_file(test::built_plugin("test_probe"));
  const auto component = test::host().make(*registry.find(ComponentKind::kLossEstimator, "probe"), {});
  EXPECT_EQ(test::error_of([&] { dynamic_cast<const LossEstimator&>(*component).evaluate({}); }),
            "asked the probe | do not");
}

TEST_F(Loading, WarnsOfAnotherCompilerWithoutRefusing) {
  const auto file = folder.path() / "libother_compiler.so";
  test::write_file(file, test::with_descriptor<DriftPluginDescriptor>(
                             "test_probe", [](auto& descriptor) { std::strcpy(descriptor.compiler, "gcc 99.1"); }));
  loader.load_file(file);
  ASSERT_THAT(loader.loaded(), SizeIs(1));
  EXPECT_THAT(loader.loaded()[0].warning, StartsWith("built by gcc 99.1, this host by "));
}

TEST_F(Loading, RefusesTheSecondPluginOfOneName) {
  for (const char* name : {"libfirst.so", "libsecond.so"})
    fs::copy(test::built_plugin("test_probe"), folder.path() / name);
  loader.load_folder(here());
  EXPECT_THAT(loader.loaded(), SizeIs(1));
  ASSERT_THAT(loader.refused(), SizeIs(1));
  EXPECT_THAT(loader.refused()[0].message, AllOf(StartsWith("two plugins have the name `probe`"),
                                                 HasSubstr("libfirst.so"), HasSubstr("libsecond.so")));
  EXPECT_THAT(registry.components(), SizeIs(1));
}

/// A copy of the probe under another plugin name: its component and algorithm are still called `probe`.
void write_renamed_probe(const fs::path& file, const char* name) {
  test::write_file(file, test::with_descriptor<DriftPluginDescriptor>("test_probe", [&](auto& descriptor) {
                     std::memset(descriptor.name, 0, sizeof descriptor.name);
                     std::strcpy(descriptor.name, name);
                   }));
}

// Whichever is found first: a plugin of the user's takes nothing away from those that came with the program.
TEST_F(Loading, RefusesAComponentWithTheNameOfAShippedOne) {
  const test::TemporaryFolder shipped;
  write_renamed_probe(folder.path() / "libmine.so", "mine");
  write_renamed_probe(shipped.path() / "libshipped.so", "shipped");
  const SearchPath own = here(), usual = {shipped.path(), "installed", false};
  loader.load_file(test::built_plugin("test_soft_clip"));
  loader.load_folder(own);
  loader.load_folder(usual);
  EXPECT_THAT(loader.loaded(), SizeIs(3));
  EXPECT_EQ(registry.find(ComponentKind::kLossEstimator, "probe")->plugin, "shipped");
  EXPECT_EQ(registry.find_algorithm("probe")->plugin, "shipped");
  EXPECT_NE(registry.find(ComponentKind::kLossEstimator, "soft_clip"), nullptr) << "what does not collide stays";
  ASSERT_THAT(loader.refused(), SizeIs(2));
  EXPECT_EQ(loader.refused()[0].message,
            "the loss `probe` of plugin `mine` is refused: the shipped plugin `shipped` has one of that name\n  --> " +
                (folder.path() / "libmine.so").string() + "\n   = give it another name");
  EXPECT_THAT(loader.refused()[1].message, StartsWith("the algorithm `probe` of plugin `mine` is refused"));

  Registry other_registry;
  PluginLoader other(other_registry);
  other.load_folder(usual);
  other.load_folder(own);
  EXPECT_EQ(other_registry.find(ComponentKind::kLossEstimator, "probe")->plugin, "shipped");
  EXPECT_THAT(other.refused(), SizeIs(1));
}

TEST_F(Loading, AsksItsGateBeforeItLoadsAForeignFile) {
  fs::copy(test::built_plugin("test_probe"), folder.path() / "libprobe.so");
  unsetenv("DRIFT_PROBE_RAN");
  loader.set_gate([](const fs::path& file) { throw Error("not " + file.filename().string()); });
  loader.load_folder(here());
  EXPECT_EQ(std::getenv("DRIFT_PROBE_RAN"), nullptr);
  ASSERT_THAT(loader.refused(), SizeIs(1));
  EXPECT_EQ(loader.refused()[0].message, "not libprobe.so");
  loader.load_folder({folder.path(), "installed", false});
  EXPECT_THAT(loader.loaded(), SizeIs(1)) << "what came with the program is not asked for";
}

TEST_F(Loading, TakesOneFileSeenThroughTwoPathsOnce) {
  fs::create_symlink(test::built_plugin("test_probe"), folder.path() / "libprobe.so");
  loader.load_file(test::built_plugin("test_probe"));
  loader.load_folder(here());
  EXPECT_THAT(loader.loaded(), SizeIs(1));
  EXPECT_THAT(loader.refused(), IsEmpty());
}

TEST_F(Loading, ReportsANamedFolderThatDoesNotExist) {
  loader.load_folder({"/nowhere/plugins", "DRIFT_PLUGIN_PATH", true});
  ASSERT_THAT(loader.refused(), SizeIs(1));
  EXPECT_THAT(loader.refused()[0].message,
              StartsWith("cannot read the plugin folder /nowhere/plugins (DRIFT_PLUGIN_PATH): "));
  loader.load_folder({"/nowhere/plugins", "installed", false});
  EXPECT_THAT(loader.refused(), SizeIs(1));
}

TEST(PluginSearchPaths, AreTheConfiguredTheEnvironmentsTheProgramsAndTheInstalledOnes) {
  setenv("DRIFT_PLUGIN_PATH", "/from/environment:/second::/from/toml", 1);
  const auto paths = plugin_search_paths({"/from/toml"}, "/opt/drift/bin/drift");
  unsetenv("DRIFT_PLUGIN_PATH");
  std::vector<std::string> found;
  for (const SearchPath& path : paths) found.push_back(path.folder.string() + " " + path.origin);
  EXPECT_THAT(found,
              ElementsAre("/from/toml [plugins] paths", "/from/environment DRIFT_PLUGIN_PATH",
                          "/second DRIFT_PLUGIN_PATH", "/opt/drift/lib/drift/plugins beside the program",
                          (fs::canonical(test::build_dir()) / "lib" / "drift" / "plugins").string() + " installed"));
}

}  // namespace drift::plugin_loader_test
