// `drift plugin check` on plugins that would end or stop the process, and on damaged files. The
// rules themselves: conformance_test.cpp.

#include <tests/support/support.h>

#include <random>

namespace drift::plugin_check_test {

using namespace testing;

std::filesystem::path test_plugin(const std::string& name) {
  return test::build_dir() / "tests/plugins" / ("libtest_" + name + ".so");
}

/// Without memory dumps, and without a sanitizer's own word on signals.
test::CommandResult drift(const std::string& arguments, const std::string& environment = "") {
  return test::run_command("ulimit -c 0 && ASAN_OPTIONS=$ASAN_OPTIONS:handle_segv=0:handle_abort=0:handle_sigfpe=0 " +
                           environment + " " + test::program().string() + " " + arguments);
}

test::CommandResult check_fault(const std::string& fault, const std::string& options = "") {
  return drift("plugin check " + test_plugin("faulty").string() +
               " --component loss/faulty --rule made --rule results --set fault=" + fault + " " + options);
}

TEST(PluginCheck, AGoodPlugin) {
  const auto result = drift("plugin check " + test_plugin("soft_clip").string());
  EXPECT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, AllOf(HasSubstr("plugin    soft_clip 1.0.0\n"), HasSubstr("\nloss/soft_clip\n"),
                                   HasSubstr("  gradient "), HasSubstr(" calls, "), HasSubstr("\nok: ")));
}

TEST(PluginCheck, WhatEndsAProcessIsAFinding) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"wild", "evaluate: it ended the program by SIGSEGV"},      {"overflow", "by SIGSEGV"},
      {"abort", "evaluate: it ended the program by SIGABRT"},     {"divide", "by SIGFPE"},
      {"thread", "evaluate: it ended the program by SIGABRT"},    {"exit", "evaluate: it called exit()"},
      {"number", "evaluate: it threw an exception of type `int`"}};
  for (const auto& [fault, expected] : faults) {
    const auto result = check_fault(fault);
    EXPECT_EQ(result.status, 1) << fault << result.output << result.error;
    EXPECT_THAT(result.output, AllOf(HasSubstr("results  found"), HasSubstr(expected))) << fault;
  }
}

TEST(PluginCheck, AHangIsAFinding) {
  const test::TemporaryFolder folder;
  const auto result = check_fault("hang", "--timeout 5");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("it did not end within 5.0 s (--timeout)"));
}

TEST(PluginCheck, ARegistrationThatEndsTheProcess) {
  const auto result = drift("plugin check " + test_plugin("faulty").string(), "DRIFT_FAULTY_REGISTRATION=wild");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("loads"), HasSubstr("it ended the program by SIGSEGV")));
}

// The rules of a model are `not checked` without a config.json, and those of a reward without a reference that it
// reads.
TEST(PluginCheck, WhatCouldNotBeExaminedDoesNotPass) {
  const std::string llada = "plugin check " + (test::build_dir() / "lib/drift/plugins/libllada.so").string();
  const auto model = drift(llada);
  EXPECT_EQ(model.status, 1);
  EXPECT_THAT(model.output,
              AllOf(HasSubstr("--model-config FILE"), HasSubstr("\n0 findings; not examined: model/llada\n")));
  EXPECT_EQ(nlohmann::json::parse(drift(llada + " --json").output)["unexamined"][0], "model/llada");
  const auto reward =
      drift("plugin check " + test_plugin("rule_breakers").string() + " --component 'reward/reads no reference'");
  EXPECT_EQ(reward.status, 1);
  EXPECT_THAT(reward.output, HasSubstr("\n0 findings; not examined: reward/reads no reference\n"));
}

TEST(PluginCheck, Json) {
  const auto result = check_fault("exit", "--json");
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["findings"], 1);
  bool found = false;
  for (const auto& outcome : json["outcomes"])
    found = found ||
            (outcome["component"] == "loss/faulty" && outcome["rule"] == "results" && outcome["verdict"] == "found");
  EXPECT_TRUE(found) << result.output;
}

TEST(PluginCheck, UnknownNames) {
  const auto result = drift("plugin check " + test_plugin("faulty").string() + " --component loss/fualty");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error,
              AllOf(HasSubstr("the plugin has no component `loss/fualty`"), HasSubstr("did you mean `loss/faulty`?")));
  EXPECT_EQ(drift("plugin check nowhere.so").status, 1);
  const auto rule = drift("plugin check " + test_plugin("soft_clip").string() + " --rule gradeint");
  EXPECT_EQ(rule.status, 1);
  EXPECT_THAT(rule.error, AllOf(HasSubstr("there is no rule `gradeint`"), HasSubstr("did you mean `gradient`?")));
}

// A file that ends the process that loads it is a refusal for the commands that only look at it.
TEST(PluginCheck, ListAndDoctorOutliveAForeignFile) {
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(test_plugin("faulty"), folder.path() / "libfaulty.so");
  const std::string environment = "DRIFT_FAULTY_REGISTRATION=wild DRIFT_PLUGIN_PATH=" + folder.path().string();
  const auto list = drift("plugin list", environment);
  EXPECT_EQ(list.status, 0) << list.error;
  EXPECT_THAT(list.output, AllOf(HasSubstr("block"), Not(HasSubstr("faulty"))));
  EXPECT_THAT(list.error, AllOf(HasSubstr("plugin file `libfaulty.so` cannot be loaded"),
                                HasSubstr("it ended the program by SIGSEGV")));
  const auto doctor = drift("doctor", environment);
  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.output, HasSubstr("plugin file `libfaulty.so` cannot be loaded"));
}

/// A cut, flipped bits, or a stretch of other bytes: at the beginning, where the headers are, or anywhere.
std::string corrupted(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return random() % bound; };
  switch (below(4)) {
    case 0: bytes.resize(below(bytes.size())); break;
    case 1:
      for (std::size_t flips = 1 + below(20); flips-- > 0;)
        bytes[below(bytes.size())] ^= static_cast<char>(1U << below(8));
      break;
    case 2:
      for (std::size_t count = 1 + below(16); count-- > 0;) bytes[below(4096)] = static_cast<char>(random());
      break;
    default: {
      const std::size_t begin = below(bytes.size()), length = std::min(bytes.size() - begin, 1 + below(4096));
      for (std::size_t i = 0; i < length; ++i) bytes[begin + i] = static_cast<char>(random());
    }
  }
  return bytes;
}

// DRIFT_CORRUPTIONS sets how many: the ordinary tests try a few, `plugin_check_test_corruptions` a thousand.
TEST(PluginCheckCorruptions, NeverASignal) {
  const char* const asked = std::getenv("DRIFT_CORRUPTIONS");
  const int count = asked == nullptr ? 10 : std::atoi(asked);
  const std::string good = test::read_file(test_plugin("soft_clip"));
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "libcorrupted.so";
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    test::write_file(file, corrupted(good, random));
    const auto result =
        drift("plugin check " + file.string() + " --rule loads --rule made --rule results --timeout 20 --json");
    ASSERT_THAT(result.status, testing::AnyOf(0, 1)) << "corruption " << i << ": " << result.error;
    const auto json = nlohmann::json::parse(result.output);
    EXPECT_EQ(json["findings"] == 0, result.status == 0) << "corruption " << i;
    for (const auto& outcome : json["outcomes"])
      EXPECT_FALSE(outcome["verdict"] == "found" && outcome["text"] == "") << "corruption " << i;
    refused += result.status;
  }
  EXPECT_GT(refused, count / 4);
}

}  // namespace drift::plugin_check_test
