// The paper's planning tasks in configs/tasks, as the program resolves them.

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <map>
#include <sstream>
#include <string>

namespace drift::task_files_test {
namespace {

using testing::EndsWith;
using testing::Eq;

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
  const auto source = [](const std::string& path) { return (test::source_dir() / path).string(); };
  const auto result =
      test::run_command(test::program().string() + " config show " + source("configs/tasks/" + task + ".toml") +
                        " --for eval --model " + source("assets/sudoku-llada"));
  EXPECT_EQ(result.status, 0) << result.error;
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
  EXPECT_THAT(found->second.origin, testing::ContainsRegex(file + ":[0-9]+")) << key;
}

TEST(TaskFiles, TheirPuzzlesLieInTheDataFolder) {
  const std::string data = (test::source_dir() / "data").string();
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
    EXPECT_EQ(settings.at("rollout.length").value, "256") << "of the rollout, or of the preset that is chosen";
    EXPECT_EQ(settings.at("rollout.block").value, "32") << "of the rollout, or of the preset that is chosen";
    EXPECT_EQ(settings.at("rollout.threshold").value, "0.9") << "of the rollout, or of the preset that is chosen";
    expect(settings, "evaluation.rollout.temperature", "0.0", file);
  }
}

TEST(TaskFiles, JudgeAsThePaperDoes) {
  const Settings countdown = resolved("countdown-3");
  expect(countdown, "reward.name", "\"countdown\"", "countdown-3.toml");
  expect(countdown, "reward.answer", "\"boxed\"", "countdown-3.toml");
  expect(countdown, "reward.use", "\"at_most_once\"", "countdown-3.toml");
  expect(countdown, "reward.intermediates", "\"any\"", "countdown-3.toml");
  const Settings sudoku = resolved("sudoku-4x4");
  expect(sudoku, "reward.name", "\"sudoku\"", "sudoku-4x4.toml");
  expect(sudoku, "reward.answer", "\"tags\"", "sudoku-4x4.toml");
  expect(sudoku, "reward.score", "\"grid_valid\"", "sudoku-4x4.toml");
  for (const char* blanks : {"task.blanks_low", "task.blanks_high"}) expect(sudoku, blanks, "8", "sudoku-4x4.toml");
  expect(sudoku, "task.unique", "false", "sudoku-4x4.toml");
  expect(sudoku, "task.split", "\"puzzles\"", "sudoku-4x4.toml");
  expect(sudoku, "task.held_out_size", "500", "sudoku-4x4.toml");
}

}  // namespace
}  // namespace drift::task_files_test
