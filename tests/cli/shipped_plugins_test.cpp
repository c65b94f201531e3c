// Every plugin that ships keeps the rules of `drift plugin check`.

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>

namespace drift {
namespace {

/// What a component cannot be examined without.
const std::map<std::string, std::string>& arguments() {
  static const std::map<std::string, std::string> all = {
      {"libllada.so", "--model-config " + (test::source_dir() / "assets/sudoku-llada/config.json").string()},
      {"libdream.so", "--model-config " + (test::source_dir() / "assets/sudoku-dream/config.json").string()},
      {"libsudoku.so", R"(--reference '{"puzzle": "1030000000000000", "solution": "1234341221434321"}')"},
      {"libcountdown.so", R"(--reference '{"numbers": [3, 7, 12], "target": 24}')"},
      {"libcode.so", R"(--reference '{"test_list": ["assert f(1) == 2"]}')"},
  };
  return all;
}

class ShippedPlugins : public testing::TestWithParam<std::string> {};

TEST_P(ShippedPlugins, KeepTheRules) {
  const auto folder = test::program().parent_path().parent_path() / "lib/drift/plugins";
  const auto argument = arguments().find(GetParam());
  const auto result = test::run_command(test::program().string() + " plugin check " + (folder / GetParam()).string() +
                                        " " + (argument == arguments().end() ? "" : argument->second));
  EXPECT_EQ(result.status, 0) << result.output << result.error;
}

INSTANTIATE_TEST_SUITE_P(, ShippedPlugins,
                         testing::Values("librldf.so", "libd1.so", "libtracerl.so", "libwd1.so", "libspg.so",
                                         "libcoupled_grpo.so", "libespo.so", "libllada.so", "libdream.so",
                                         "libblock.so", "libsudoku.so", "libsudoku_task.so", "libcountdown.so",
                                         "libcountdown_task.so", "libmath.so", "libformat.so", "libcode.so",
                                         "libdataset.so"),
                         [](const auto& info) { return info.param.substr(3, info.param.size() - 6); });

}  // namespace
}  // namespace drift
