// tokenizer.json: what is read, what is refused, and how it says so.

#include <core/text/byte_alphabet.h>
#include <core/text/tokenizer.h>
#include <drift/error.h>
#include <sys/stat.h>

#include "tests/support/support.h"
#include "tests/support/tokenizers.h"

namespace drift::tokenizer_file_test {

using nlohmann::json;
using test::open_tokenizer;
using test::small_tokenizer;
using test::tokenizer_error;
using test::tokenizer_error_with;
using namespace testing;
using Ids = std::vector<std::int64_t>;

TEST(TokenizerFile, EveryByteHasItsOwnCharacter) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string character = byte_character(static_cast<unsigned char>(byte));
    characters.insert(character);
    EXPECT_EQ(bytes_of_piece(character), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(characters.size(), 256u);
  EXPECT_EQ(byte_character('\n'), "Ċ");
  EXPECT_EQ(byte_character(' '), "Ġ");
  EXPECT_EQ(byte_character(0xAD), "Ń");
  EXPECT_EQ(bytes_of_piece(" "), std::nullopt);
  EXPECT_EQ(bytes_of_piece("ń"), std::nullopt) << "one above the last";
  EXPECT_EQ(bytes_of_piece("\xC4"), std::nullopt) << "half a character";
}

TEST(TokenizerFile, IsOpenedByItsFolderOrByItself) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "tokenizer.json", small_tokenizer().dump());
  EXPECT_EQ(Tokenizer::open(folder.path()).vocabulary_size(), 9);
  EXPECT_EQ(Tokenizer::open(folder.path() / "tokenizer.json").vocabulary_size(), 9);
}

TEST(TokenizerFile, MissingFileIsAnError) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(test::what_of([&] { Tokenizer::open(folder.path()); }),
              HasSubstr((folder.path() / "tokenizer.json").string()));
}

// Opening a FIFO would wait for a writer.
TEST(TokenizerFile, WhatIsNoRegularFileIsRefused) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "tokenizer.json").c_str(), 0600), 0);
  EXPECT_THAT(test::what_of([&] { Tokenizer::open(folder.path()); }),
              HasSubstr("tokenizer.json: it is no regular file"));
}

TEST(TokenizerFile, TruncatedAnywhereIsAnError) {
  const std::string whole = small_tokenizer().dump();
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    EXPECT_THAT(tokenizer_error(whole.substr(0, length)), HasSubstr("not valid JSON")) << length;
  }
}

TEST(TokenizerFile, MayHaveGapsBetweenItsIds) {
  json file = small_tokenizer();
  file["model"]["vocab"]["d"] = 40;
  file["added_tokens"][0]["id"] = 50;
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_EQ(tokenizer.vocabulary_size(), 51);
  EXPECT_THAT(tokenizer.encode("ad<x>"), ElementsAre(0, 40, 50));
  EXPECT_EQ(tokenizer.decode(Ids{50, 40}, false), "<x>d");
  EXPECT_THROW(tokenizer.piece(41), Error);
  EXPECT_THAT(test::what_of([&] {
                tokenizer.decode(Ids{0, 41}, false);
              }),
              HasSubstr("41 has no token in the vocabulary"));
}

TEST(TokenizerFile, AnAddedTokenMayRepeatAPiece) {
  json file = small_tokenizer();
  file["added_tokens"].push_back({{"id", 4}, {"content", "bc"}, {"special", true}});
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_THAT(tokenizer.encode("abc"), ElementsAre(0, 4)) << "recognised before the merges come to it";
  EXPECT_EQ(tokenizer.decode(Ids{0, 4}, true), "a");
}

TEST(TokenizerFile, UnknownKindsAreRefusedByName) {
  const auto& with = tokenizer_error_with;
  EXPECT_THAT(with("/normalizer", {{"type", "NFKC"}}), HasSubstr("normalizer NFKC is not supported"));
  EXPECT_THAT(with("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Strip"}}}}}),
              HasSubstr("normalizer Strip"));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "Metaspace"}}), HasSubstr("pre_tokenizer Metaspace"));
  EXPECT_THAT(with("/pre_tokenizer/add_prefix_space", true), HasSubstr("add_prefix_space"));
  EXPECT_THAT(with("/decoder/type", "WordPiece"), HasSubstr("decoder WordPiece"));
  EXPECT_THAT(with("/decoder", nullptr), HasSubstr("decoder null"));
  EXPECT_THAT(with("/decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "Fuse"}}}}}), HasSubstr("decoder Fuse"));
  EXPECT_THAT(with("/post_processor", {{"type", "BertProcessing"}}), HasSubstr("post_processor BertProcessing"));
  EXPECT_THAT(with("/model/type", "Unigram"), HasSubstr("model Unigram"));
  EXPECT_THAT(with("/model/dropout", 0.1), HasSubstr("dropout"));
  EXPECT_THAT(with("/model/continuing_subword_prefix", "##"), HasSubstr("continuing_subword_prefix"));
  EXPECT_THAT(with("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
}

TEST(TokenizerFile, UnknownKindsOfSplitAreRefusedByName) {
  const auto with = [](const json& change) {
    json split = {{"type", "Split"}, {"pattern", {{"Regex", "a"}}}, {"behavior", "Isolated"}, {"invert", false}};
    split.update(change);
    return tokenizer_error_with("/pre_tokenizer", split);
  };
  EXPECT_EQ(with(json::object()), "no error");
  EXPECT_THAT(with({{"behavior", "Removed"}}), HasSubstr("Split with behavior Removed"));
  EXPECT_THAT(with({{"invert", true}}), HasSubstr("Split with invert"));
  EXPECT_THAT(with({{"pattern", {{"String", "a"}}}}), HasSubstr("a pattern other than Regex"));
  EXPECT_THAT(with({{"pattern", {{"Regex", "["}}}}), HasSubstr("the class is not closed"));
  EXPECT_THAT(tokenizer_error_with("/pre_tokenizer", json::parse(R"({"type": "Sequence", "pretokenizers": [
                {"type": "ByteLevel", "add_prefix_space": false}, {"type": "Split"}]})")),
              HasSubstr("pre_tokenizer Split after ByteLevel"));
}

TEST(TokenizerFile, WhatChangesNoIdsIsTaken) {
  const auto& with = tokenizer_error_with;
  EXPECT_EQ(with("/model/dropout", 0.0), "no error");
  EXPECT_EQ(with("/model/continuing_subword_prefix", ""), "no error");
  EXPECT_EQ(with("/post_processor", {{"type", "ByteLevel"}}), "no error");
  EXPECT_EQ(with("/decoder", json::parse(R"({"type": "Sequence", "decoders": [{"type": "ByteLevel"}]})")), "no error");
  const json adds_nothing = json::parse(R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}]})");
  EXPECT_EQ(with("/post_processor", adds_nothing), "no error");
  const json adds_a_token = json::parse(
      R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<x>"}}, {"Sequence": {"id": "A"}}]})");
  EXPECT_THAT(with("/post_processor", adds_a_token), HasSubstr("TemplateProcessing that adds tokens"));
}

TEST(TokenizerFile, HostileContentIsRefusedWithTheReason) {
  const auto& with = tokenizer_error_with;
  EXPECT_THAT(with("/model/vocab/a", 1), HasSubstr("the id 1 belongs to `a` and to `b`"));
  for (const json& id : {json(1048576), json(18446744073709551615u), json(-1), json(0.5), json("0")}) {
    EXPECT_THAT(with("/model/vocab/a", id), HasSubstr("the id of `a` is not a number between 0 and 1048575")) << id;
  }
  EXPECT_EQ(with("/model/vocab/a", 1048575), "no error");
  EXPECT_THAT(with("/model/vocab", json::array()), HasSubstr("model.vocab is not an object"));
  EXPECT_THAT(with("/model/merges/0", "b d"), HasSubstr("merge 0 needs `d`, which the vocabulary lacks"));
  EXPECT_THAT(with("/model/merges/0", "a b"), HasSubstr("merge 0 needs `ab`"));
  for (const json& merge : {json(7), json("bc"), json("b c d"), json({"b"}), json({"b", 2}), json({"b", "c", "d"})}) {
    EXPECT_THAT(with("/model/merges/0", merge), HasSubstr("merge 0 is not a pair")) << merge;
  }
  EXPECT_THAT(with("/model/merges", "b c"), HasSubstr("model.merges is not a list"));
  EXPECT_THAT(with("/model/unk_token", 5), HasSubstr("`unk_token` is not a text"));
  EXPECT_THAT(with("/model/byte_fallback", 1), HasSubstr("`byte_fallback` is neither true nor false"));
  EXPECT_THAT(with("/added_tokens/0/content", ""), HasSubstr("an added token has no text"));
  EXPECT_THAT(with("/added_tokens/0/content", "<x>y"), HasSubstr("`<x>y` has the ids 6 and 7"));
  EXPECT_THAT(with("/added_tokens/0/id", 0), HasSubstr("the id 0 belongs to `a` and to `<x>`"));
  EXPECT_THAT(with("/added_tokens/0/id", 7), HasSubstr("the id 7 belongs to `<x>` and to `<x>y`"));
  EXPECT_THAT(with("/added_tokens/0", 5), HasSubstr("`content` is missing"));
  EXPECT_THAT(with("/added_tokens", 5), HasSubstr("added_tokens is not a list"));
  EXPECT_THAT(with("/model", 5), HasSubstr("`type` is missing"));
  EXPECT_THAT(with("/decoder", 5), HasSubstr("`type` is missing"));
  EXPECT_THAT(with("/model/type", 5), HasSubstr("`type` is not a text"));
  EXPECT_THAT(tokenizer_error("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(tokenizer_error("{}"), HasSubstr("decoder null"));
  EXPECT_THAT(tokenizer_error(std::string(1000000, '[')), HasSubstr("not valid JSON"));
  EXPECT_THAT(tokenizer_error(std::string("{\"model\": \"\xFF\"}")), HasSubstr("not valid JSON"));
}

}  // namespace drift::tokenizer_file_test
