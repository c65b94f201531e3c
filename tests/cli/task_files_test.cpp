// The paper's planning tasks in configs/tasks, as the program resolves them.

#include <tests/support/program.h>

namespace drift::task_files_test {

using namespace test;
using namespace testing;

struct Setting {
  std::string value;   ///< as TOML
  std::string origin;  ///< file and line, or "default"
};
using Settings = std::map<std::string, Setting>;  ///< by section and key: "task.prompt"

/// The text without blanks at its ends.
std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// What `drift config show` prints: "[section]", then lines "key = value  # origin".
Settings resolved(const std::string& task) {
  const auto result = run_command(program().string() + " config show " + source("configs/tasks/" + task + ".toml") +
                                  " --for eval --model " + source("assets/sudoku-llada"));
  EXPECT_THAT(result, prints());
  Settings settings;
  std::istringstream text(result.output);
  std::string section;
  for (std::string line; std::getline(text, line);) {
    const auto equals = line.find(" = "), comment = line.rfind(" # ");
    if (line.starts_with('[')) {
      section = line.substr(1, line.find(']') - 1) + ".";
    } else if (!line.starts_with('#') && equals != std::string::npos && comment != std::string::npos) {
      settings[section + trimmed(line.substr(0, equals))] = {trimmed(line.substr(equals + 3, comment - equals - 3)),
                                                             trimmed(line.substr(comment + 3))};
    }
  }
  return settings;
}

/// The value, which must come from that file of configs/.
void expect(const Settings& settings, const std::string& key, const std::string& value, const std::string& file) {
  const auto found = settings.find(key);
  ASSERT_NE(found, settings.end()) << key;
  EXPECT_EQ(found->second.value, value) << key;
  EXPECT_THAT(found->second.origin, ContainsRegex(file + ":[0-9]+")) << key;
}

TEST(TaskFiles, TheirPuzzlesLieInTheDataFolder) {
  const std::string data = source("data");
  expect(resolved("countdown-3"), "task.held_out_file", "\"" + data + "/countdown_3_test.jsonl\"", "countdown-3.toml");
  expect(resolved("sudoku-4x4"), "task.held_out_file", "\"" + data + "/sudoku_4x4_test.csv\"", "sudoku-4x4.toml");
}

TEST(TaskFiles, AreThePapersSettings) {
  for (const std::string task : {"countdown-3", "sudoku-4x4"}) {
    SCOPED_TRACE(task);
    const Settings settings = resolved(task);
    const std::string file = task + ".toml";
    expect(settings, "task.name", task == "sudoku-4x4" ? "\"sudoku\"" : "\"countdown\"", file);
    expect(settings, "task.prompt", "\"paper\"", file);
    expect(settings, "prompt.format", "\"rldf_release\"", "puzzle.toml");
    expect(settings, "prompt.instruction", "\"This is the problem:\\n{question}\"", "puzzle.toml");
    expect(settings, "rollout.name", "\"block\"", file);
    expect(settings, "evaluation.rollout.temperature", "0.0", file);
    for (const auto& [key, value] :
         std::map<std::string, std::string>{{"length", "256"}, {"block", "0"}, {"threshold", "0.9"}})  // 0: 32
      EXPECT_EQ(settings.at("rollout." + key).value, value) << "of the rollout, or of the preset that is chosen";
  }
}

TEST(TaskFiles, JudgeAsThePaperDoes) {
  const std::map<std::string, std::map<std::string, std::string>> judged = {{"countdown-3",
                                                                             {{"reward.name", "\"countdown\""},
                                                                              {"reward.answer", "\"boxed\""},
                                                                              {"reward.use", "\"at_most_once\""},
                                                                              {"reward.intermediates", "\"any\""}}},
                                                                            {"sudoku-4x4",
                                                                             {{"reward.name", "\"sudoku\""},
                                                                              {"reward.answer", "\"tags\""},
                                                                              {"reward.score", "\"grid_valid\""},
                                                                              {"task.blanks_low", "8"},
                                                                              {"task.blanks_high", "8"},
                                                                              {"task.unique", "false"},
                                                                              {"task.split", "\"puzzles\""},
                                                                              {"task.held_out_size", "500"}}}};
  for (const auto& [task, values] : judged) {
    const Settings settings = resolved(task);
    for (const auto& [key, value] : values) expect(settings, key, value, task + ".toml");
  }
}

}  // namespace drift::task_files_test
