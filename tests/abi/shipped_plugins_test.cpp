// Every plugin that ships keeps the rules of `drift plugin check`.

#include <tests/support/support.h>

namespace drift::shipped_plugins_test {

using namespace testing;

/// A problem for each line.
std::string records(int first, int count) {
  std::string lines;
  for (int i = first; i < first + count; ++i) {
    const std::string number = std::to_string(i);
    lines +=
        R"({"question": "What is )" + number + R"( + 1?", "ground_truth_answer": ")" + std::to_string(i + 1) + "\"}\n";
  }
  return lines;
}

class ShippedPlugins : public testing::TestWithParam<std::string> {
 protected:
  ShippedPlugins() {
    test::write_file(folder_.path() / "training.jsonl", records(0, 50));
    test::write_file(folder_.path() / "held_out.jsonl", records(100, 5));
  }

  /// What the plugin cannot be examined without.
  std::string arguments(const std::string& plugin) const {
    const std::string assets = (test::source_dir() / "assets").string(), data = folder_.path().string();
    const auto block_model = [](const std::string& name) {
      return "--model-config " + (test::source_dir() / "tests/golden/block/ckpt" / name / "config.json").string();
    };
    const std::map<std::string, std::string> all = {
        {"llada", "--model-config " + assets + "/sudoku-llada/config.json"},
        {"dream", "--model-config " + assets + "/sudoku-dream/config.json"},
        {"sdar", block_model("sdar_a")},
        {"dreamreasoner", block_model("dreamreasoner_a")},
        {"fast_dllm_v2", block_model("fast_dllm_v2_a") + " --set mask_id=149"},
        {"illada", block_model("illada_a")},
        {"llada2", block_model("llada2_moe_a") + " --set block_size=4 --set mask_id=149"},
        {"described", block_model("illada_a") +
                          " --set description=" + (test::source_dir() / "plugins/models/illada.toml").string()},
        {"sudoku", R"(--reference '{"puzzle": "1030000000000000", "solution": "1234341221434321"}')"},
        {"countdown", R"(--reference '{"numbers": [3, 7, 12], "target": 24}')"},
        {"code", R"(--reference '{"test_list": ["assert f(1) == 2"]}')"},
        {"dataset", "--set 'training_files=[\"" + data + "/training.jsonl\"]' --set 'held_out_files=[\"" + data +
                        "/held_out.jsonl\"]'"}};
    const auto found = all.find(plugin);
    return found == all.end() ? "" : found->second;
  }

  test::TemporaryFolder folder_;
};

TEST_P(ShippedPlugins, KeepTheRules) {
  const auto file = test::program().parent_path().parent_path() / "lib/drift/plugins" / ("lib" + GetParam() + ".so");
  const auto result = test::run_command(test::program().string() + " plugin check " + file.string() +
                                        " --timeout 900 " + arguments(GetParam()));
  EXPECT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, Not(HasSubstr("see `"))) << "a basic rule could not be tried";
}

INSTANTIATE_TEST_SUITE_P(, ShippedPlugins,
                         testing::Values("rldf", "d1", "tracerl", "wd1", "spg", "coupled_grpo", "espo", "agrpo",
                                         "unigrpo", "gdpo", "d2", "bgpo", "mdpo", "vrpo", "dipo", "ebpo", "cj_grpo",
                                         "llada", "dream", "sdar", "llada2", "dreamreasoner", "fast_dllm_v2", "illada",
                                         "described", "block", "diffusion", "sudoku", "sudoku_task", "countdown",
                                         "countdown_task", "math", "format", "code", "dataset", "word_problems"),
                         [](const auto& info) { return info.param; });

}  // namespace drift::shipped_plugins_test
