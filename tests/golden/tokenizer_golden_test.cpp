// Token ids against those of the `tokenizers` package. What the data are and how they were made: tokenizer_fixture.py.

#include <core/text/tokenizer.h>
#include <drift/error.h>

#include <unicode/utf8.h>

#include <charconv>
#include <cstdio>

#include "tests/support/support.h"

namespace drift::tokenizer_golden_test {

using nlohmann::json;
using namespace testing;
using Ids = std::vector<std::int64_t>;

std::filesystem::path data_dir() { return test::source_dir() / "tests" / "golden" / "data" / "tokenizer"; }

void append_utf8(std::uint32_t code_point, std::string& text) {
  char bytes[U8_MAX_LENGTH];
  std::size_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, code_point);
  text.append(bytes, length);
}

// \\, \n, \r, \xHH for a byte, \u{H…} for a character.
std::string unescaped(std::string_view line) {
  std::string text;
  const auto number = [&](std::size_t begin, std::size_t end) {
    std::uint32_t value = 0;
    std::from_chars(line.data() + begin, line.data() + end, value, 16);
    return value;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      text += line[i];
      continue;
    }
    switch (line[++i]) {
      case 'n': text += '\n'; break;
      case 'r': text += '\r'; break;
      case 'x':
        text += static_cast<char>(number(i + 1, i + 3));
        i += 2;
        break;
      case 'u': {
        const std::size_t end = line.find('}', i);
        append_utf8(number(i + 2, end), text);
        i = end;
        break;
      }
      default: text += line[i];
    }
  }
  return text;
}

struct Sample {
  std::string line;  // as the file has it
  std::string text;
  std::string small;  // checksum of the ids of tokenizer.json
  std::string real;   // … of the vocabulary in data/qwen
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> read;
    std::ifstream file(data_dir() / "strings.txt", std::ios::binary);
    for (std::string line; std::getline(file, line);) {
      read.push_back({line, unescaped(std::string_view(line).substr(18)), line.substr(0, 8), line.substr(9, 8)});
    }
    return read;
  }();
  return all;
}

// FNV-1a over the ids, each as four bytes, lowest first.
std::string checksum(const Ids& ids) {
  std::uint32_t value = 0x811C9DC5;
  for (const std::int64_t id : ids) {
    for (int shift = 0; shift < 32; shift += 8) value = (value ^ (id >> shift & 0xFF)) * 0x01000193;
  }
  char text[16];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

std::string joined(const Ids& ids) {
  std::string text;
  for (const std::int64_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

// The first lines whose ids differ, with what was found instead.
std::string differences(const Tokenizer& tokenizer, std::string Sample::*expected) {
  constexpr int kShown = 10;
  std::ostringstream text;
  int count = 0;
  for (const Sample& sample : samples()) {
    const Ids ids = tokenizer.encode(sample.text);
    if (checksum(ids) == sample.*expected) continue;
    if (count++ < kShown) text << sample.line << "\n  ids: " << joined(ids) << "\n";
  }
  return count == 0 ? "" : std::to_string(count) + " texts differ\n" + text.str();
}

const json& small_file() {
  static const json file = json::parse(test::read_file(data_dir() / "tokenizer.json"));
  return file;
}

TEST(TokenizerGolden, ThereAreTwentyThousandTexts) { EXPECT_THAT(samples().size(), Ge(20000)); }

TEST(TokenizerGolden, IdsOfTokenizerJson) { EXPECT_EQ(differences(Tokenizer::open(data_dir()), &Sample::small), ""); }

TEST(TokenizerGolden, IdsOfVocabularyAndMerges) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "vocab.json", small_file()["model"]["vocab"].dump());
  std::string merges = "#version: 0.2\n";
  for (const json& merge : small_file()["model"]["merges"]) {
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  }
  test::write_file(folder.path() / "merges.txt", merges);
  json decoder = json::object();
  for (const json& token : small_file()["added_tokens"]) decoder[token["id"].dump()] = token;
  test::write_file(folder.path() / "tokenizer_config.json", json{{"added_tokens_decoder", decoder}}.dump());
  EXPECT_EQ(differences(Tokenizer::open(folder.path()), &Sample::small), "");
}

// The two families write the same words in different patterns.
TEST(TokenizerGolden, IdsOfTheOtherFamilysPattern) {
  json file = small_file();
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] =
      R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
  EXPECT_EQ(differences(Tokenizer::parse(file.dump(), "tokenizer.json"), &Sample::small), "");
}

TEST(TokenizerGolden, StreamsJoinToTheDecodedText) {
  const Tokenizer tokenizer = Tokenizer::open(data_dir());
  for (const Sample& sample : samples()) {
    const Ids ids = tokenizer.encode(sample.text);
    for (const bool skip_special : {false, true}) {
      StreamDecoder stream(tokenizer, skip_special);
      std::string streamed;
      for (const std::int64_t id : ids) streamed += stream.push(id);
      ASSERT_EQ(streamed + stream.flush(), tokenizer.decode(ids, skip_special)) << sample.line;
    }
    if (tokenizer.encode(tokenizer.decode(ids, false)) != ids)
      ADD_FAILURE() << "not encoded as before: " << sample.line;
  }
}

TEST(TokenizerGolden, KindsOfTokenizers) {
  for (const json& kind : json::parse(test::read_file(data_dir() / "kinds.json"))) {
    SCOPED_TRACE(kind["name"].get<std::string>());
    const Tokenizer tokenizer = Tokenizer::parse(kind["tokenizer"].dump(), "tokenizer.json");
    for (const json& expected : kind["cases"]) {
      SCOPED_TRACE(expected["text"].dump());
      const Ids ids = tokenizer.encode(expected["text"].get<std::string>());
      EXPECT_THAT(ids, ElementsAreArray(expected["ids"].get<Ids>()));
      if (!expected.contains("decoded")) continue;
      EXPECT_EQ(tokenizer.decode(ids, false), expected["decoded"].get<std::string>());
      EXPECT_EQ(tokenizer.decode(ids, true), expected["without_special"].get<std::string>());
    }
  }
}

TEST(TokenizerGolden, IdsOfARealVocabulary) {
  if (const auto missing = test::missing_data({"qwen/tokenizer.json"}); !missing.empty()) GTEST_SKIP() << missing;
  EXPECT_EQ(differences(Tokenizer::open(test::data_file("qwen/tokenizer.json")), &Sample::real), "");
}

// docs/spec/models_rollout.md 2.2, by the files that its checkpoints have: vocab.json and merges.txt.
TEST(TokenizerGolden, DocumentedIdsOfARealVocabulary) {
  if (const auto missing = test::missing_data({"qwen/vocab.json", "qwen/merges.txt"}); !missing.empty())
    GTEST_SKIP() << missing;
  const test::TemporaryFolder folder;
  for (const char* name : {"vocab.json", "merges.txt"}) {
    std::filesystem::create_symlink(test::data_file("qwen") / name, folder.path() / name);
  }
  test::write_file(folder.path() / "added_tokens.json",
                   R"({"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645, "<|mask|>": 151666})");
  test::write_file(folder.path() / "special_tokens_map.json",
                   R"({"eos_token": "<|endoftext|>", "mask_token": {"content": "<|mask|>", "lstrip": false},
                       "additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})");
  const Tokenizer tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.vocabulary_size(), 151667);
  EXPECT_THAT(tokenizer.encode("Hello world"), ElementsAre(9707, 1879));
  EXPECT_THAT(tokenizer.encode(" Hello world"), ElementsAre(21927, 1879));
  EXPECT_THAT(tokenizer.encode("\n"), ElementsAre(198));
  EXPECT_THAT(tokenizer.encode("\n\n"), ElementsAre(271));
  EXPECT_THAT(tokenizer.encode("\t"), ElementsAre(197));
  EXPECT_THAT(tokenizer.encode("\r\n"), ElementsAre(319));
  EXPECT_THAT(tokenizer.encode("  a"), ElementsAre(220, 264));
  EXPECT_THAT(tokenizer.encode("don't I'LL"), ElementsAre(15007, 944, 358, 6, 4086));
  EXPECT_THAT(tokenizer.encode("x = 12345"), ElementsAre(87, 284, 220, 16, 17, 18, 19, 20));
  EXPECT_THAT(tokenizer.encode("cafe\u0301"), ElementsAre(924, 58858));
  EXPECT_THAT(tokenizer.encode("<|im_start|>user\nYou need to put your final answer in \\boxed{}. This is the "
                               "problem:\nWhat is $2 + 3$?<|im_end|>\n<|im_start|>assistant"),
              ElementsAre(151644, 872, 198, 2610, 1184, 311, 2182, 697, 1590, 4226, 304, 1124, 79075, 46391, 1096, 374,
                          279, 3491, 510, 3838, 374, 400, 17, 488, 220, 18, 3, 30, 151645, 198, 151644, 77091));
  EXPECT_THAT(tokenizer.encode("<|im_start|>assistantHere is the completed code:\n```python\n"),
              ElementsAre(151644, 77091, 8420, 374, 279, 8145, 2038, 510, 73594, 12669, 198));
  EXPECT_EQ(tokenizer.decode(Ids{151644, 872, 198, 9707, 151645, 151666}, true), "user\nHello");
  EXPECT_THROW(tokenizer.piece(151646), Error);
}

}  // namespace drift::tokenizer_golden_test
