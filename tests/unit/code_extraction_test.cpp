// Which part of a response is its code.

#include "extraction.h"

#include <gmock/gmock.h>

#include <string>

namespace drift::code {
namespace {

using testing::HasSubstr;

constexpr const char* kPrefix = "Here is the completed code:\n```python\ndef f(x):\n    \"\"\" Double. \"\"\"\n\n";
constexpr const char* kTests = "def check(candidate):\n    assert f(1) == 2\n\ncheck(f)";
const std::string kHeader = "def f(x):\n    \"\"\" Double. \"\"\"\n\n";

Extraction extract(const std::string& response, const std::string& prefix = "",
                   Unclosed unclosed = Unclosed::kLenient) {
  return extract_code(response, prefix, kTests, unclosed);
}

void expect(const Extraction& extraction, const std::string& code, const std::string& rule) {
  EXPECT_TRUE(extraction.found);
  EXPECT_EQ(extraction.code, code);
  EXPECT_EQ(extraction.rule, rule);
}

void expect_none(const Extraction& extraction, const std::string& rule) {
  EXPECT_FALSE(extraction.found);
  EXPECT_EQ(extraction.rule, rule);
}

TEST(CodeExtraction, ABlockIsFencedByLines) {
  expect(extract("So:\n```python\ndef f(x):\n    return x\n```\nDone."), "def f(x):\n    return x\n",
         "the last block that defines what is tested");
  for (const char* fence : {"```py", "```Python", "```PYTHON3", "```python  ", "```python\r"}) {
    expect(extract(std::string(fence) + "\nf = 1\n   ```  \n"), "f = 1\n",
           "the last block that defines what is tested");
  }
}

TEST(CodeExtraction, OtherFencesAreText) {
  for (const char* fence : {"```", "```text", "```python f = 1", "``python", "   ```python", "```pythonic"}) {
    expect_none(extract(std::string(fence) + "\nf = 1\n```\n"), "no code block");
  }
  expect_none(extract(""), "no code block");
  expect_none(extract("f = 1"), "no code block");
}

TEST(CodeExtraction, FencesWithinALineDoNotCut) {
  const std::string code = "def f(x):\n    return 'a ``` b', '```python'\n";
  expect(extract("```python\n" + code + "```"), code, "the last block that defines what is tested");
}

TEST(CodeExtraction, TheLastBlockThatDefinesWhatIsTestedCounts) {
  expect(extract("```python\nf = 1\n```\n```python\nf = 2\n```\nAn example:\n```python\nprint(f)\n```"), "f = 2\n",
         "the last block that defines what is tested");
  expect(extract("```python\ng = 1\n```\nor\n```python\nh = 2\n```"), "h = 2\n", "the last block");
  for (const char* code :
       {"def f(x): pass\n", "def  f (x): pass\n", "class f: pass\n", "async def f(x): pass\n", "f=1\n"}) {
    EXPECT_EQ(extract("```python\n" + std::string(code) + "```\n```python\ng = 0\n```").code, code);
  }
  for (const char* code : {"def fg(x): pass\n", "    def f(x): pass\n", "f == 1\n", "print(f)\n", "f\n"}) {
    EXPECT_EQ(extract("```python\n" + std::string(code) + "```\n```python\ng = 0\n```").code, "g = 0\n");
  }
}

TEST(CodeExtraction, AnUnclosedBlockCountsWhereThatIsAllowed) {
  const std::string response = "```python\nf = 1\n";
  expect(extract(response), "f = 1\n", "the last block, not closed");
  expect_none(extract(response, "", Unclosed::kStrict), "the code block is not closed");
  expect(extract("```python\nf = 1\n```\n```python\nf = 2"), "f = 1\n", "the last block that defines what is tested");
}

TEST(CodeExtraction, AResponseContinuesThePrefix) {
  const std::string body = "    return 2 * x\n";
  expect(extract(body + "```", kPrefix), kHeader + body, "continues the prefix");
  expect(extract(body + "```\nThis doubles x.", kPrefix), kHeader + body, "continues the prefix");
  expect(extract(body, kPrefix), kHeader + body, "continues the prefix, not closed");
  expect_none(extract(body, kPrefix, Unclosed::kStrict), "the prefix's block is not closed");
  expect(extract("", kPrefix), kHeader, "continues the prefix, not closed");
}

TEST(CodeExtraction, ACompleteBlockOfTheResponseReplacesThePrefix) {
  const std::string own = "```python\ndef f(x):\n    return x\n```\n";
  expect(extract(own, kPrefix), "def f(x):\n    return x\n", "its own block");
  expect(extract("    return 2 * x\n```\nOr:\n" + own, kPrefix), "def f(x):\n    return x\n", "its own block");
}

TEST(CodeExtraction, ABlockThatDefinesNothingTestedDoesNot) {
  const std::string body = "    return 2 * x\n";
  expect(extract(body + "```\nFor example:\n```python\nprint(f(1))\n```", kPrefix), kHeader + body,
         "continues the prefix");
  expect(extract(body + "```python\nprint(f(1))\n```", kPrefix), kHeader + body, "continues the prefix");
  expect(extract(body + "```\n```python\ndef f(x):\n    return", kPrefix), kHeader + body, "continues the prefix");
}

TEST(CodeExtraction, APrefixWithoutAnOpenBlockIsNotCode) {
  for (const char* prefix : {"Here it is:\n", "```python\nf = 1\n```\n", "```\n"}) {
    expect_none(extract("    return x\n```", prefix), "no code block");
    EXPECT_FALSE(code_of_prefix(prefix).open);
  }
  EXPECT_TRUE(code_of_prefix("```python\n").open);
  EXPECT_EQ(code_of_prefix(kPrefix).code, kHeader);
}

// Long input of any kind is read once.
TEST(CodeExtraction, AnyTextIsTaken) {
  for (const std::string& part : {std::string("```python\n"), std::string("```\n"), std::string("`"), std::string("\n"),
                                  std::string("f "), std::string("\0", 1), std::string("\xFF")}) {
    std::string text;
    while (text.size() < (1 << 20)) text += part;
    for (const char* prefix : {"", kPrefix}) {
      const Extraction extraction = extract(text, prefix);
      EXPECT_LE(extraction.code.size(), text.size() + kHeader.size());
      EXPECT_NE(extraction.rule, "");
    }
  }
}

}  // namespace
}  // namespace drift::code
