// The paper's planning tasks in configs/tasks, as the program resolves them.

#include <tests/support/support.h>

#include <gmock/gmock.h>

namespace drift {
namespace {

using testing::HasSubstr;

std::string resolved(const std::string& task) {
  const auto source = [](const std::string& path) { return (test::source_dir() / path).string(); };
  const auto result =
      test::run_command(test::program().string() + " config show " + source("configs/tasks/" + task + ".toml") +
                        " --for eval --model " + source("assets/sudoku-llada"));
  EXPECT_EQ(result.status, 0) << result.error;
  // One space between a key, its value and its origin is enough.
  std::string text;
  for (const char c : result.output) {
    if (c != ' ' || !text.ends_with(' ')) text += c;
  }
  return text;
}

TEST(TaskFiles, TheirPuzzlesLieInTheDataFolder) {
  const std::string data = (test::source_dir() / "data").string();
  EXPECT_THAT(resolved("countdown-3"), HasSubstr("held_out_file = \"" + data + "/countdown_3_test.jsonl\""));
  EXPECT_THAT(resolved("sudoku-4x4"), HasSubstr("held_out_file = \"" + data + "/sudoku_4x4_test.csv\""));
}

TEST(TaskFiles, AreThePapersSettings) {
  for (const char* task : {"countdown-3", "sudoku-4x4"}) {
    const std::string text = resolved(task);
    EXPECT_THAT(text, HasSubstr("\nprompt = \"paper\" "));
    EXPECT_THAT(text, HasSubstr("\nformat = \"drift\" "));
    EXPECT_THAT(text, HasSubstr("\ninstruction = \"This is the problem:\\n{question}\" "));
    EXPECT_THAT(text, HasSubstr("\nlength = 256 "));
    EXPECT_THAT(text, HasSubstr("\nblock = 32 "));
    EXPECT_THAT(text, HasSubstr("\nthreshold = 0.9 "));
  }
  EXPECT_THAT(resolved("countdown-3"), HasSubstr("\nanswer = \"boxed\" "));
  EXPECT_THAT(resolved("sudoku-4x4"), HasSubstr("\nanswer = \"tags\" "));
}

}  // namespace
}  // namespace drift
