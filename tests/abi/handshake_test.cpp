// The handshake: what a plugin's file says about itself, and which plugin a host takes.

#include <core/io/checksum.h>
#include <core/plugin/handshake.h>

#include <tests/abi/plugin_files.h>
#include <tests/support/support.h>

namespace drift::handshake_test {

using namespace testing;

DriftPluginDescriptor plugin_of(std::uint32_t abi_major, std::uint32_t abi_minor) {
  DriftPluginDescriptor descriptor = DRIFT_PLUGIN_DESCRIPTOR("probe", "1.0", "MIT");
  descriptor.abi_major = abi_major;
  descriptor.abi_minor = abi_minor;
  return descriptor;
}

std::vector<std::string> fields(const std::vector<HandshakeMismatch>& mismatches) {
  std::vector<std::string> names;
  for (const HandshakeMismatch& mismatch : mismatches) names.push_back(mismatch.field);
  return names;
}

TEST(Judge, TakesThePluginsOfItsOwnBuild) { EXPECT_THAT(judge(host_descriptor(), plugin_of(1, 0)), IsEmpty()); }

TEST(Judge, TakesEveryOlderMinorAndNoNewerOne) {
  DriftPluginDescriptor host = host_descriptor();
  host.abi_minor = 3;
  for (std::uint32_t minor = 0; minor <= 3; ++minor) EXPECT_THAT(judge(host, plugin_of(1, minor)), IsEmpty()) << minor;
  EXPECT_THAT(fields(judge(host, plugin_of(1, 4))), ElementsAre("core ABI"));
}

TEST(Judge, RefusesEveryOtherMajor) {
  DriftPluginDescriptor host = host_descriptor();
  host.abi_major = 2;
  EXPECT_THAT(fields(judge(host, plugin_of(1, 0))), ElementsAre("core ABI"));
  EXPECT_THAT(fields(judge(host, plugin_of(3, 0))), ElementsAre("core ABI"));
}

TEST(Judge, TakesALongerDescriptorOfAPluginThatKnowsMoreFields) {
  DriftPluginDescriptor plugin = plugin_of(1, 0);
  plugin.struct_size += 8;
  EXPECT_THAT(judge(host_descriptor(), plugin), IsEmpty());
}

TEST(Judge, NamesEveryDifferingField) {
  DriftPluginDescriptor plugin{};
  plugin.struct_size = sizeof(plugin);
  plugin.standard_library_debug = 1;
  plugin.sanitizers = DRIFT_SANITIZER_THREAD | DRIFT_SANITIZER_ADDRESS;
  plugin.cxx11_abi = 1 - host_descriptor().cxx11_abi;
  EXPECT_THAT(fields(judge(host_descriptor(), plugin)),
              ElementsAre("core ABI", "tier", "LibTorch", "compiler ABI", "C++ library", "C++11 strings",
                          "C++ library debug", "sanitizers", "platform", "name", "version", "licence"));
}

TEST(Refusal, IsOneTableAndOneCommand) {
  DriftPluginDescriptor host = plugin_of(1, 3);
  DriftPluginDescriptor plugin = plugin_of(2, 0);
  std::strcpy(host.libtorch_version, "2.11.0");
  std::strcpy(plugin.libtorch_version, "2.9.1");
  std::strcpy(plugin.name, "my_loss");
  const Error error = refusal("/home/me/plugins/libmy_loss.so", plugin, judge(host, plugin));
  EXPECT_STREQ(error.what(),
               "plugin `my_loss` was built for another Drift\n"
               "  --> /home/me/plugins/libmy_loss.so\n"
               "       field     this host  the plugin\n"
               "       core ABI  1.3        2.0\n"
               "       LibTorch  2.11.0     2.9.1");
  EXPECT_EQ(
      error.hint(),
      "rebuild it against this SDK:  cmake -B build -DCMAKE_PREFIX_PATH=$(drift sdk --prefix) && cmake --build build");
}

TEST(ReadDescriptor, GivesWhatThePluginDeclares) {
  const DriftPluginDescriptor descriptor = read_descriptor(test::built_plugin("test_probe"));
  EXPECT_EQ(descriptor_text(descriptor.name), "probe");
  EXPECT_EQ(descriptor_text(descriptor.version), "1.2.3");
  EXPECT_EQ(descriptor_text(descriptor.licence), "MIT");
  EXPECT_THAT(judge(host_descriptor(), descriptor), IsEmpty());
}

TEST(ReadDescriptor, SurvivesStripAndUnknownSections) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "changed.so";
  test::write_file(folder.path() / "note", "anything");
  const std::string probe = test::built_plugin("test_probe").string() + " ";
  for (const std::string command : {"strip " + probe + "-o ", "objcopy --add-section .unknown=" +
                                                                  (folder.path() / "note").string() + " " + probe}) {
    const auto result = test::run_command(command + file.string());
    ASSERT_EQ(result.status, 0) << result.error;
    EXPECT_EQ(descriptor_text(read_descriptor(file).name), "probe") << command;
  }
}

TEST(DescriptorText, EndsAtTheArraysEndAndShowsNoControlCharacters) {
  const char full[4] = {'a', '\x1b', 'c', 'd'};
  EXPECT_EQ(descriptor_text(full), "a?cd");
}

TEST(Sha256, GivesThePublishedValues) {
  const test::TemporaryFolder folder;
  const auto digest = [&](const std::string& content) {
    test::write_file(folder.path() / "file", content);
    return sha256_of_file(folder.path() / "file");
  };
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // Lengths around a block, where the padding changes.
  for (const std::size_t length : {55, 56, 63, 64, 65, 119, 120}) {
    const std::string ours = digest(std::string(length, 'x'));
    EXPECT_EQ(ours, test::run_command("sha256sum < " + (folder.path() / "file").string()).output.substr(0, 64))
        << length;
  }
}

}  // namespace drift::handshake_test
