// Which part of a response is its code.

#include "extraction.h"

#include <gmock/gmock.h>
#include <boost/algorithm/string/trim.hpp>

#include <regex>
#include <string>
#include <vector>

namespace drift::code::code_extraction_test {
namespace {

using testing::HasSubstr;

constexpr const char* kPrefix = "Here is the completed code:\n```python\ndef f(x):\n    \"\"\" Double. \"\"\"\n\n";
const std::string kHeader = "def f(x):\n    \"\"\" Double. \"\"\"\n\n";

/// `f` is tested; only lines are fences.
Extraction extract(const std::string& response, const std::string& prefix = "",
                   Unclosed unclosed = Unclosed::kLenient) {
  return extract_code(response, prefix, {{"f"}}, {unclosed, Fences::kStrict});
}

Extraction extract_leniently(const std::string& response, const std::string& prefix = "") {
  return extract_code(response, prefix, {{"f"}}, {});
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
    EXPECT_FALSE(code_of_prefix(prefix, Fences::kStrict).open);
  }
  EXPECT_TRUE(code_of_prefix("```python\n", Fences::kStrict).open);
  EXPECT_EQ(code_of_prefix(kPrefix, Fences::kStrict).code, kHeader);
}

// Python's ways to give a name a meaning, in a block before one that only seems to.
TEST(CodeExtraction, WhatDefinesAName) {
  for (const char* code :
       {"f: object = 1\n", "g = f = 1\n", "f, g = 1, 2\n", "(g, *f) = 1, 2\n", "import g; f = 1\n",
        "def \\\nf(x): pass\n", "if x:\n    def f(x): pass\n", "try:\n    import g\nexcept ImportError:\n    f = 1\n",
        "@g\ndef f(x): pass\n", "'''\n\"\"\"\n'''\nf = 1\n", "g = [\n1]\nf = 1\n", "g = (\ndef f(x): pass\n",
        "s = 'a\nf = 1\n"}) {
    EXPECT_EQ(extract("```python\n" + std::string(code) + "```\n```python\nprint(f)\n```").code, code);
  }
  for (const char* code : {"def g():\n    f = 1\n", "class G:\n    f = 1\n", "print(\nf=1)\n", "'''\nf = 1\n'''\n",
                           "# f = 1\n", "f: int\n", "f += 1\n", "f.g = 1\n", "f[0] = 1\n", "g = {\n'f': 1}\n",
                           "g = f\n", "f >= 1\n", "g(f=1)\n", "lambda f=1: f\n"}) {
    EXPECT_EQ(extract("```python\nf = 0\n```\n```python\n" + std::string(code) + "```").code, "f = 0\n") << code;
  }
}

TEST(CodeExtraction, ImportsDefineWhereNothingElseDoes) {
  for (const char* code : {"from math import f\n", "import f\n", "from math import (\n    g,\n    h as f,\n)\n"})
    EXPECT_EQ(extract("```python\n" + std::string(code) + "```\n```python\nprint(f)\n```").code, code);
  EXPECT_EQ(extract("```python\nf = 0\n```\n```python\nfrom g import f\n```").code, "f = 0\n");
}

TEST(CodeExtraction, ABlockThatDefinesMoreOfWhatIsTestedCounts) {
  const std::string both = "class G: pass\ndef f(g): pass\n";
  const std::string response = "```python\n" + both + "```\n```python\nclass G: ...\n```";
  EXPECT_EQ(extract_code(response, "", {{"G", "f"}}, {}).code, both);
}

TEST(CodeExtraction, OfAWholeProgramTheLastBlockCounts) {
  const std::string response = "```python\nx = 1\n```\nBetter:\n```python\nprint(input())\n```\n";
  EXPECT_EQ(extract_code(response, "", std::nullopt, {}).code, "print(input())\n");
  EXPECT_EQ(extract_code(response, "```python\nimport sys\n", std::nullopt, {}).code, "print(input())\n");
  EXPECT_EQ(extract_code(response + "Output:\n```\n3\n```\n", "", std::nullopt, {}).code, "print(input())\n");
  const std::string program = "with open(0) as lines:\n    print(*lines)\n";
  for (const char* end : {"", "```", "```\nDone.\n"})
    EXPECT_EQ(extract_code(program + end, "", std::nullopt, {}).code, program);
}

struct Shape {
  const char* name;
  std::string response;
  bool strict;   ///< whether Fences::kStrict reads it, too
  bool release;  ///< whether rldf_release's pattern does: ```python(.*?)```, the last one
  std::string code = "f = 1\n";
};

/// README.md has this table.
std::vector<Shape> shapes() {
  return {
      {"lines", "So:\n```python\nf = 1\n```\n", true, true},
      {"Python", "```Python\nf = 1\n```", true, false},
      {"py", "```py\nf = 1\n```", true, false},
      {"indented", "1. So:\n   ```python\n   f = 1\n   ```\n", false, true},
      {"indented lines", "  ```python\n  def f(x):\n    return x\n  ```", false, false, "def f(x):\n  return x\n"},
      {"opened within a line", "It is ```python\nf = 1\n```", false, true},
      {"all within a line", "It is ```python f = 1```.", false, true},
      {"code after the language", "```python def f(x):\n    return x\n```", false, true, "def f(x):\n    return x\n"},
      {"closed at the end of a line", "```python\nf = 1```\nDone.", false, true},
      {"a title after the language", "```python title=\"f.py\"\nf = 1\n```", false, false},
      {"four backticks", "````python\nf = 1\n````", false, true},
      {"four around three", "````python\nf = 1  # ```\n````", false, false, "f = 1  # ```\n"},
      {"four, closed by three", "````python\nf = 1\n```", false, true},
      {"four around a block", "````markdown\n```python\nf = 1\n```\n````", true, true},
      {"tildes", "~~~python\nf = 1  # ```\n~~~", false, false, "f = 1  # ```\n"},
      {"a language in braces", "```{.python .numberLines}\nf = 1\n```", false, false},
      {"CRLF", "```python\r\nf = 1\r\n```\r\n", true, true, "f = 1\r\n"},
      {"not indented in an indented fence", "    ```python\ndef f(x):\n    return x\n    ```", false, true,
       "def f(x):\n    return x\n"},
      {"indented in a fence", "```python\n    def f(x):\n        return x\n```", false, false,
       "def f(x):\n    return x\n"},
      {"in the first line of a list", "- ```python\n  def f(x):\n    return x\n  ```", false, false,
       "def f(x):\n  return x\n"},
      {"an assignment after the language", "```python f = 1\ng = f\n```", false, true, "f = 1\ng = f\n"},
      {"words after the closing fence", "```python\nf = 1\n``` Done.\n", false, true},
      {"words after code and fence", "```python\nf = 1``` Done.\n", false, true},
      {"closed by another fence", "```python\nf = 1\n```output\n1\n```\n", false, true},
      {"never closed", "```python\nf = 1\n", true, false},
      {"never closed, after another", "```python\ng = 1\n```\n```python\nf = 1\n", true, false},
      {"a fence in a docstring", "```python\ndef f(x):\n    \"\"\"\n    ```\n    f(1)\n    ```\n    \"\"\"\n```", false,
       false, "def f(x):\n    \"\"\"\n    ```\n    f(1)\n    ```\n    \"\"\"\n"},
      {"a fence at the end of a line in a docstring", "```python\ndef f(x):\n    '''\n    Is ```x```\n    '''\n```",
       true, false, "def f(x):\n    '''\n    Is ```x```\n    '''\n"},
      {"a fence in a text", "```python\nf = '```', \"```python\"\n```", true, false, "f = '```', \"```python\"\n"},
      {"prompts", "```python\n>>> def f(x):\n...     return x\n...\n>>> f(1)\n1\n```", false, false,
       "def f(x):\n    return x\n\nf(1)\n"},
      {"no language", "```\nf = 1\n```", false, false},
      {"no language, and Python's fence around an example", "```\nf = 1\n```\n```python\nprint(f)\n```", false, false},
      {"no fence", "f = 1\n", false, false},
      {"no fence, indented", "    def f(x):\n        return x\n", false, false, "def f(x):\n    return x\n"},
      {"no fence but a closing one", "f = 1\n```\nDone.", false, false},
      {"no fence but around an example", "f = 1\n```\n```python\nprint(f)\n```", false, false}};
}

TEST(CodeExtraction, ReadsTheShapesThatPublishedProgramsRead) {
  static const std::regex kRelease("```python([^]*?)```");
  for (const Shape& shape : shapes()) {
    EXPECT_EQ(extract_leniently(shape.response).code, shape.code) << shape.name;
    EXPECT_EQ(extract(shape.response).code == shape.code, shape.strict) << shape.name;
    std::string last;
    for (std::sregex_iterator found(shape.response.begin(), shape.response.end(), kRelease), end; found != end; ++found)
      last = boost::trim_copy((*found)[1].str());
    EXPECT_EQ(last == boost::trim_copy(shape.code), shape.release) << shape.name;
  }
}

TEST(CodeExtraction, LenientlyAPrefixMayEndInEveryShape) {
  const std::string body = "    return 2 * x\n";
  for (const char* fence : {"```python", "````py", "``` Python", "~~~python", "```", "```python title=\"f.py\""}) {
    const std::string prefix = "So:\n" + std::string(fence) + "\n" + kHeader;
    const std::string end = std::string(fence).substr(0, std::string(fence).find_first_not_of("`~"));
    expect(extract_leniently(body + end + "\nDone.", prefix), kHeader + body, "continues the prefix");
  }
  const std::string list = "  def f(x):\n    return x\n  ```";
  EXPECT_EQ(extract_leniently(list, "1. So\n  ```python\n").code, "def f(x):\n  return x\n");
  for (const auto& [prefix, rest] :
       {std::pair("So: ```python", "\n"), std::pair("So:\n```", "python\n"), std::pair("So:\n```", "\n")})
    EXPECT_EQ(extract_leniently(rest + std::string("f = 1\n```\nDone."), prefix).code, "f = 1\n") << prefix;
  const std::string docstring = "```python\ndef f(x):\n    \"\"\"\n    ```\n    f(1)\n";
  EXPECT_EQ(extract_leniently("    ```\n    \"\"\"\n" + body + "```\nDone.", docstring).code,
            docstring.substr(10) + "    ```\n    \"\"\"\n" + body);
}

TEST(CodeExtraction, LenientlyOtherLanguagesAreStillNoCode) {
  for (const char* fence : {"```text", "```bash", "```pythonic", "``python", "~~~text"})
    EXPECT_FALSE(extract_leniently(std::string("So\n") + fence + "\nprint(1)\n```\n").found) << fence;
  EXPECT_EQ(extract_leniently("```bash\npython f.py\n```\n```\nf = 2\n```\n").code, "f = 2\n");
  EXPECT_EQ(extract_leniently("```\nf = 2\n```\n```python\nf = 1\n```\n").code, "f = 1\n") << "the named one";
  EXPECT_FALSE(extract_leniently("Write f as a fence of ```python``` and code.").found);
}

TEST(CodeExtraction, LenientlyAContinuationEndsInEveryShape) {
  const std::string body = "    return 2 * x\n";
  expect(extract_leniently(body + "```\nDone", kPrefix), kHeader + body, "continues the prefix");
  expect(extract_leniently("    return 2 * x```", kPrefix), kHeader + body, "continues the prefix");
  expect(extract_leniently(body + "```python\nprint(f(1))\n```", kPrefix), kHeader + body, "continues the prefix");
  expect(extract_leniently("  ```python\n  f = 1\n  ```", kPrefix), "f = 1\n", "its own block");
}

// Long input of any kind is read once.
TEST(CodeExtraction, AnyTextIsTaken) {
  for (const std::string& part : {std::string("```python\n"), std::string("```\n"), std::string("`"), std::string("\n"),
                                  std::string("f "), std::string("\0", 1), std::string("\xFF")}) {
    std::string text;
    while (text.size() < (1 << 18)) text += part;
    for (const char* prefix : {"", kPrefix}) {
      for (const Fences fences : {Fences::kLenient, Fences::kStrict}) {
        const Extraction extraction = extract_code(text, prefix, {{"f"}}, {Unclosed::kLenient, fences});
        EXPECT_LE(extraction.code.size(), text.size() + kHeader.size() + 1);
        EXPECT_NE(extraction.rule, "");
      }
    }
  }
}

}  // namespace
}  // namespace drift::code::code_extraction_test
