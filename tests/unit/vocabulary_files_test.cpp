// Checkpoints without a tokenizer.json: vocab.json, merges.txt, and the files that name added tokens.

#include <core/base/log.h>
#include <core/text/tokenizer.h>
#include <drift/error.h>

#include "tests/support/support.h"

namespace drift::vocabulary_files_test {

using namespace testing;
using Ids = std::vector<std::int64_t>;

class VocabularyFiles : public testing::Test {
 protected:
  void SetUp() override {
    write("vocab.json",
          R"({"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "'": 5, "s": 6, "'s": 7, "b'": 8, "Ã": 9, "©": 10})");
    write("merges.txt", "#version: 0.2\na b\nĠ ab\nb '\n' s\n");
  }
  void write(const std::string& name, const std::string& content) { test::write_file(folder_.path() / name, content); }
  Tokenizer open() { return Tokenizer::open(folder_.path()); }
  std::string error() {
    return test::what_of([&] { open(); });
  }

  const test::TemporaryFolder folder_;
};

TEST_F(VocabularyFiles, AreCutAndMergedAndNormalised) {
  EXPECT_THAT(open().encode("ab ab"), ElementsAre(3, 4));
  EXPECT_THAT(open().encode("b's"), ElementsAre(1, 7)) << "cut before the ending, so that b' does not merge";
  EXPECT_THAT(open().encode("e\u0301"), ElementsAre(9, 10)) << "é in one character";
}

TEST_F(VocabularyFiles, MergesMayHaveAnyLineEndsAndNoVersion) {
  write("merges.txt", "a b\r\n\r\nĠ ab");
  EXPECT_THAT(open().encode("ab ab"), ElementsAre(3, 4));
  write("vocab.json", R"({"#version:": 0, "#": 1, "version:": 2, "a": 3})");
  write("merges.txt", "\n# version:\n");
  EXPECT_EQ(open().vocabulary_size(), 4);
}

constexpr const char* kDecoder = R"({"added_tokens_decoder": {
    "20": {"content": "<end>", "special": true, "lstrip": false, "rstrip": true, "single_word": false, "normalized": false},
    "21": {"content": "<call>", "special": false}}, "model_max_length": 2048, "eos_token": "<end>", "unk_token": null,
    "add_bos_token": false, "additional_special_tokens": ["<call>", "<new>"], "bos_token": {"content": "ab"}})";

TEST_F(VocabularyFiles, AddedTokensStandInTheTokenizersConfiguration) {
  write("tokenizer_config.json", kDecoder);
  const Tokenizer tokenizer = open();
  EXPECT_EQ(tokenizer.vocabulary_size(), 23);
  EXPECT_THAT(tokenizer.encode("a<end> <call>"), ElementsAre(0, 20, 21));
  EXPECT_THAT(tokenizer.encode("<new>"), ElementsAre(22)) << "named without an id: the next one";
  EXPECT_EQ(tokenizer.decode(Ids{20, 21, 22, 3, 0}, /*skip_special=*/true), "a");
  EXPECT_EQ(tokenizer.decode(Ids{20, 21, 3}, /*skip_special=*/false), "<end><call>ab");
}

TEST_F(VocabularyFiles, OrInTwoFilesIfThatHasNone) {
  write("tokenizer_config.json", R"({"model_max_length": 2048, "mask_token": "<other>"})");
  write("added_tokens.json", R"({"<end>": 20, "<mask>": 22, "<plain>": 23})");
  write("special_tokens_map.json", R"({"mask_token": "<mask>", "eos_token": {"content": "<end>", "lstrip": false},
          "additional_special_tokens": ["<new>"], "unk_token": null, "bos_token": "ab"})");
  const Tokenizer tokenizer = open();
  EXPECT_EQ(tokenizer.vocabulary_size(), 25);
  EXPECT_THAT(tokenizer.encode("a<end><mask><plain><new>"), ElementsAre(0, 20, 22, 23, 24));
  EXPECT_EQ(tokenizer.decode(Ids{20, 22, 23, 24, 3, 0}, /*skip_special=*/true), "<plain>a");
}

// The published SDAR folders. What transformers 5.24 makes of the files was looked at.
TEST_F(VocabularyFiles, ThatNameAnIdDifferentlyAreReadAsTransformersReadsThem) {
  std::vector<std::string> warnings;
  set_warning_listener([&](const std::string& text) { warnings.push_back(text); });
  write("tokenizer_config.json", kDecoder);
  write("added_tokens.json", R"({"<END>": 20, "<call>": 30, "<plain>": 23})");
  write("special_tokens_map.json", R"({"eos_token": "<END>", "pad_token": "<pad>"})");
  const Tokenizer tokenizer = open();
  set_warning_listener({});
  EXPECT_EQ(tokenizer.vocabulary_size(), 23);
  EXPECT_THAT(tokenizer.encode("<end><call>"), ElementsAre(20, 21));
  for (std::int64_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (!tokenizer.has_token(id)) continue;
    EXPECT_THAT(tokenizer.piece(id), testing::Not(testing::AnyOf("<END>", "<pad>", "<plain>")));
  }
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("added_tokens.json names `<plain>` = 23, tokenizer_config.json does not")));
}

TEST_F(VocabularyFiles, MistakesNameTheFile) {
  const auto with = [&](const std::string& name, const std::string& content) {
    SetUp();
    for (const char* other : {"tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"})
      write(other, "{}");
    write(name, content);
    const std::string message = error();
    EXPECT_THAT(message, HasSubstr((folder_.path() / name).string()));
    return message;
  };
  EXPECT_THAT(with("vocab.json", "[]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(with("vocab.json", R"({"a": 0, "b": 0})"), HasSubstr("the id 0 belongs to `a` and to `b`"));
  EXPECT_THAT(with("merges.txt", "a b\na c\n"), HasSubstr("merge 1 needs `c`, which the vocabulary lacks"));
  EXPECT_THAT(with("merges.txt", "ab\n"), HasSubstr("merge 0 is not a pair"));
  EXPECT_THAT(with("tokenizer_config.json", "{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(with("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "<x>"}}})"),
              HasSubstr("the key `x` of added_tokens_decoder is not a token id"));
  EXPECT_THAT(with("tokenizer_config.json", R"({"added_tokens_decoder": {"20": {"content": ""}}})"),
              HasSubstr("an added token has no text"));
  EXPECT_THAT(with("added_tokens.json", R"({"<x>": -1})"), HasSubstr("the id of `<x>` is not a number"));
  EXPECT_THAT(with("special_tokens_map.json", R"({"eos_token": 5})"), HasSubstr("`content` is missing"));
}

TEST_F(VocabularyFiles, FilesMayNotContradictEachOther) {
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"20": {"content": "<x>"}, "21": {"content": "<x>"}}})");
  EXPECT_THAT(error(), AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("`<x>` has the ids 20 and 21")));
  write("tokenizer_config.json", "{}");
  write("added_tokens.json", R"({"<y>": 0})");
  EXPECT_THAT(error(), HasSubstr("the id 0 belongs to `a` and to `<y>`"));
}

TEST_F(VocabularyFiles, NeedTheirMerges) {
  std::filesystem::remove(folder_.path() / "merges.txt");
  EXPECT_THAT(error(), AllOf(HasSubstr("merges.txt"), HasSubstr("cannot be opened")));
}

TEST_F(VocabularyFiles, GiveWayToATokenizerJson) {
  write("tokenizer.json", "{}");
  EXPECT_THAT(error(), HasSubstr("tokenizer.json: decoder null"));
}

}  // namespace drift::vocabulary_files_test
