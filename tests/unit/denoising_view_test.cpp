// A response in a terminal while it is written.

#include "tests/support/support.h"

#include <core/report/denoising_view.h>

namespace drift::denoising_view_test {

using namespace testing;

/// "ab.c": committed long ago, but for capitals, which are new; points are masked.
DenoisingState state_of(const std::string& text, std::int64_t forwards) {
  DenoisingState state;
  state.forwards = forwards;
  for (const char c : text) {
    const bool fresh = c >= 'A' && c <= 'Z';
    state.positions.push_back({std::string(1, c), c == '.' ? -1 : fresh ? 0 : 9});
  }
  return state;
}

std::vector<std::string> lines_of(const std::string& text, int columns = 79, bool color = false) {
  TerminalOptions options;
  options.color = color;
  return denoising_lines(state_of(text, 3), options, columns, 2.0);
}

TEST(DenoisingView, ShowsMaskedPositionsAsDotsAndWhatIsDone) {
  EXPECT_THAT(lines_of("ab.."), ElementsAre("ab··", "forward 3  2/4 tokens  1.00 tokens/s"));
  TerminalOptions ascii;
  ascii.unicode = false;
  EXPECT_THAT(denoising_lines(state_of("..", 0), ascii, 79, 1.0), ElementsAre("..", "forward 0  0/2 tokens"));
}

TEST(DenoisingView, BreaksLinesWhereTheResponseDoesAndWhereTheTerminalEnds) {
  EXPECT_THAT(lines_of("a\nbcde"), ElementsAre("a", "bcde", HasSubstr("6/6")));
  const auto narrow = lines_of("abcdefgh", 3);
  EXPECT_THAT(narrow, ElementsAre("abc", "def", "gh", "for"));
}

TEST(DenoisingView, TheLatestCommitsStandOut) {
  EXPECT_THAT(lines_of("aB.", 79, /*color=*/true)[0], "a\033[1;33mB\033[0m\033[2m·\033[0m");
}

TEST(DenoisingView, AModelCannotMoveTheCursor) {
  DenoisingState state;
  state.positions = {{"\033[2J\r", 0}};
  EXPECT_THAT(denoising_lines(state, {}, 79, 1.0)[0], "\\x1b[2J\\x0d");
}

TEST(DenoisingView, OfALongResponseTheLinesWithTheLatestCommitsAreShown) {
  std::string text;
  for (int line = 0; line < 40; ++line) text += line == 29 ? "X\n" : "a\n";
  const auto lines = lines_of(text);
  ASSERT_THAT(lines, SizeIs(21));
  EXPECT_EQ(lines[19], "X");
  EXPECT_EQ(lines[0], "a");
}

TEST(DenoisingView, IsDrawnOverItself) {
  std::ostringstream stream;
  TerminalOptions options;
  options.columns = [] { return 80; };
  options.clock = [] { return 0.0; };
  DenoisingView view(stream, options);
  view.show(state_of("..", 0));
  view.show(state_of("a.", 1));
  EXPECT_EQ(stream.str(), "··\nforward 0  0/2 tokens\n\r\033[2A\033[Ja·\nforward 1  1/2 tokens\n");
}

}  // namespace drift::denoising_view_test
