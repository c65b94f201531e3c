#include <core/base/quote.h>

#include <gtest/gtest.h>

namespace drift::quote_test {

TEST(Printable, LeavesTextsOfAllScriptsLinesAndTabs) {
  for (const char* text :
       {"", "plain", "two\nlines\tand a tab", "naïve — Ω ≤ 数学 שלום 👩‍🔬", "\u00a0\u200b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ShowsTheCodesOfWhatControlsTurnsOrBreaksALine) {
  EXPECT_EQ(printable("\x1b[31m\a\r\b\x7f"), "\\x1b[31m\\x07\\x0d\\x08\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\u0080\u009b31m\u009f"), "\\x80\\x9b31m\\x9f");
  EXPECT_EQ(printable("\u202eabc\u202c \u2066x\u2069 \u200e\u200f\u061c"),
            "\\u202eabc\\u202c \\u2066x\\u2069 \\u200e\\u200f\\u061c");
  EXPECT_EQ(printable("a\u2028b\u2029"), "a\\u2028b\\u2029");
}

TEST(Printable, ShowsTheBytesOfWhatIsNoUtf8) {
  EXPECT_EQ(printable("a\x9b"
                      "31m"),
            "a\\x9b31m");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xe2\x82 cut"), "\\xe2\\x82 cut");
  EXPECT_EQ(printable("\xc0\x9b \xed\xa0\x80"), "\\xc0\\x9b \\xed\\xa0\\x80");  // too long a form; half of a pair
}

TEST(QuotedName, IsOnOneLineAndNotLong) {
  EXPECT_EQ(quoted_name("a\n\tb\x1b\u009b\u202e\xff"), "`a\\x0a\\x09b\\x1b\\x9b\\u202e\\xff`");
  EXPECT_EQ(quoted_name(std::string(199, 'a') + "é"), "`" + std::string(199, 'a') + "…`");
}

TEST(OnOneLine, HasNoLineBreaks) { EXPECT_EQ(on_one_line("a\nb\tc\r\u2028"), "a b c\\x0d\\u2028"); }

TEST(WithoutLongLines, CutsLinesAndKeepsTheirNumber) {
  EXPECT_EQ(without_long_lines("a\n\nb\n"), "a\n\nb\n");
  EXPECT_EQ(without_long_lines(""), "");
  EXPECT_EQ(without_long_lines(std::string(5000, 'x') + "\nend"), std::string(4000, 'x') + "…\nend");
  EXPECT_EQ(without_long_lines(std::string(3999, 'x') + "éé"), std::string(3999, 'x') + "…");
}

}  // namespace drift::quote_test
