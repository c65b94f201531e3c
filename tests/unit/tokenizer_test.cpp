// Text <-> token ids, after a checkpoint's tokenizer.json.

#include <core/text/byte_alphabet.h>
#include <core/text/tokenizer.h>
#include <drift/error.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/support.h"

namespace drift {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

const Tokenizer& shipped() {
  static const Tokenizer tokenizer = Tokenizer::open(test::source_dir() / "assets" / "sudoku-llada");
  return tokenizer;
}

// Whatever `file` is, as a tokenizer.json in a folder of its own.
Tokenizer open_text(const std::string& file) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "tokenizer.json", file);
  return Tokenizer::open(folder.path());
}

// A small tokenizer to vary: the letters a to d, two merges, and three added tokens of which one begins like another.
json example() {
  return json::parse(R"({
    "added_tokens": [{"id": 6, "content": "<x>", "special": true}, {"id": 7, "content": "<x>y", "special": false},
                     {"id": 8, "content": "é!", "special": true}],
    "normalizer": null, "post_processor": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "Ġ": 3, "bc": 4, "abc": 5}, "merges": ["b c", "a bc"]}})");
}

std::string error_of(const std::string& file) {
  try {
    open_text(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tokenizer, TheShippedVocabularyHasTwentyThreeTokens) {
  std::vector<std::string> pieces = {"<|endoftext|>", "<|mask|>", "<|startoftext|>", "<|sep|>"};
  for (const char c : std::string("\n0123456789+-*/()=,")) pieces.emplace_back(1, c);
  ASSERT_EQ(shipped().vocabulary_size(), 23);
  for (std::int64_t id = 0; id < 23; ++id) {
    EXPECT_EQ(shipped().piece(id), pieces[static_cast<std::size_t>(id)]);
    EXPECT_EQ(shipped().token_id(shipped().piece(id)), id);
  }
  EXPECT_EQ(shipped().token_id("12"), std::nullopt);
}

TEST(Tokenizer, SplitsAddedTokensFirstAndSpellsTheRest) {
  EXPECT_THAT(shipped().encode("<|startoftext|>12\n0<|sep|>"), ElementsAre(2, 6, 7, 4, 5, 3));
  EXPECT_THAT(shipped().encode(""), ElementsAre());
  EXPECT_THAT(shipped().encode("<|mask|><|mask|>"), ElementsAre(1, 1));
}

TEST(Tokenizer, DecodesWhatItEncoded) {
  const std::string text = "<|startoftext|>1+2=(3)\n4/5*6-7,890<|sep|><|endoftext|>";
  EXPECT_EQ(shipped().decode(shipped().encode(text), false), text);
  EXPECT_EQ(shipped().decode(shipped().encode(text), true), "1+2=(3)\n4/5*6-7,890");
  EXPECT_EQ(shipped().decode(Ids{}, false), "");
}

TEST(Tokenizer, SaysWhichCharacterTheVocabularyLacks) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      shipped().encode(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message("12a"), HasSubstr("`a` (byte 0x61) at byte 2"));
  EXPECT_THAT(message("1é"), HasSubstr("`é` (byte 0xC3) at byte 1"));
  EXPECT_THAT(message("1 2"), HasSubstr("no token for byte 0x20 at byte 1"));
  EXPECT_THAT(message(std::string("1\0", 2)), HasSubstr("byte 0x00 at byte 1"));
  EXPECT_THAT(message("\xFF"), HasSubstr("byte 0xFF at byte 0"));
  EXPECT_THAT(message("<|mask|"), HasSubstr("`<`"));
  EXPECT_THAT(message("Ċ"), HasSubstr("0xC4")) << "the alphabet's own characters are texts like any other";
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  EXPECT_THROW(shipped().piece(23), Error);
  EXPECT_THROW(shipped().piece(-1), Error);
  EXPECT_THROW(shipped().decode(Ids{1, 126464}, true), Error);
}

TEST(Tokenizer, MergesByRank) {
  const Tokenizer tokenizer = open_text(example().dump());
  EXPECT_THAT(tokenizer.encode("abc"), ElementsAre(5));
  EXPECT_THAT(tokenizer.encode("abcbca b"), ElementsAre(5, 4, 0, 3, 1));
  EXPECT_EQ(tokenizer.decode(Ids{5, 3, 4}, false), "abc bc");

  json two_forms = example();
  two_forms["model"]["merges"] = json::array({json::array({"b", "c"}), json::array({"a", "bc"})});
  EXPECT_THAT(open_text(two_forms.dump()).encode("abcbca b"), ElementsAre(5, 4, 0, 3, 1));

  json other_order = example();
  other_order["model"]["vocab"]["aa"] = 9;
  other_order["model"]["merges"] = {"a a", "b c"};
  EXPECT_THAT(open_text(other_order.dump()).encode("aaabc"), ElementsAre(9, 0, 4)) << "leftmost first";
}

TEST(Tokenizer, TakesTheLongestAddedToken) {
  const Tokenizer tokenizer = open_text(example().dump());
  EXPECT_THAT(tokenizer.encode("a<x>ya<x>a"), ElementsAre(0, 7, 0, 6, 0));
  EXPECT_EQ(tokenizer.decode(Ids{7, 6, 8, 0}, true), "<x>ya") << "an added token that is not special stays";
  EXPECT_EQ(tokenizer.decode(Ids{8}, false), "é!") << "added tokens are texts, not byte characters";
}

TEST(Tokenizer, JoinsBytesBeforeItReadsThemAsUtf8) {
  json file = example();
  file["model"]["vocab"] = {{"Ã", 0}, {"©", 1}};  // the two bytes of é
  file["model"]["merges"] = json::array();
  file["added_tokens"] = json::array();
  const Tokenizer tokenizer = open_text(file.dump());
  EXPECT_THAT(tokenizer.encode("é"), ElementsAre(0, 1));
  EXPECT_EQ(tokenizer.decode(Ids{0, 1}, false), "é");
  EXPECT_EQ(tokenizer.decode(Ids{1, 0}, false), "\uFFFD\uFFFD");
  EXPECT_EQ(tokenizer.piece(0), "\xC3");
}

TEST(Tokenizer, ReplacesEachMaximalInvalidPart) {
  EXPECT_EQ(valid_utf8("a\xE2\x82z"), "a\uFFFDz") << "a truncated character is one part";
  EXPECT_EQ(valid_utf8("\xF0\x9F\x91\xA9"), "\U0001F469");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\uFFFD\uFFFD") << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD") << "above U+10FFFF";
}

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
}

TEST(TokenizerFile, MissingFileIsAnError) {
  const test::TemporaryFolder folder;
  try {
    Tokenizer::open(folder.path());
    FAIL() << "an empty folder has no tokenizer";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr((folder.path() / "tokenizer.json").string()));
    EXPECT_THAT(error.hint(), HasSubstr("tokenizer.json"));
  }
}

TEST(TokenizerFile, TruncatedAnywhereIsAnError) {
  const std::string whole = example().dump();
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    EXPECT_THAT(error_of(whole.substr(0, length)), HasSubstr("not valid JSON")) << length;
  }
}

TEST(TokenizerFile, UnknownKindsAreRefusedByName) {
  const auto with = [](const std::string& pointer, const json& value) {
    json file = example();
    file[json::json_pointer(pointer)] = value;
    return error_of(file.dump());
  };
  EXPECT_THAT(with("/normalizer", {{"type", "NFC"}}), HasSubstr("normalizer NFC is not supported"));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "Sequence"}}), HasSubstr("pre_tokenizer Sequence"));
  EXPECT_THAT(with("/pre_tokenizer", nullptr), HasSubstr("pre_tokenizer null"));
  EXPECT_THAT(with("/pre_tokenizer/use_regex", true), HasSubstr("use_regex"));
  EXPECT_THAT(with("/pre_tokenizer/add_prefix_space", true), HasSubstr("add_prefix_space"));
  EXPECT_THAT(with("/decoder/type", "WordPiece"), HasSubstr("decoder WordPiece"));
  EXPECT_THAT(with("/post_processor", {{"type", "TemplateProcessing"}}), HasSubstr("post_processor Template"));
  EXPECT_THAT(with("/model/type", "Unigram"), HasSubstr("model Unigram"));
  EXPECT_THAT(with("/model/byte_fallback", true), HasSubstr("byte_fallback"));
  EXPECT_THAT(with("/model/unk_token", "<unk>"), HasSubstr("unk_token"));
  EXPECT_THAT(with("/model/dropout", 0.1), HasSubstr("dropout"));
  EXPECT_THAT(with("/added_tokens/0/lstrip", true), HasSubstr("added token `<x>` with lstrip"));
  EXPECT_EQ(with("/model/dropout", 0.0), "no error");
  EXPECT_EQ(with("/post_processor", {{"type", "ByteLevel"}}), "no error");
}

TEST(TokenizerFile, HostileContentIsRefusedWithTheReason) {
  const auto with = [](const std::string& pointer, const json& value) {
    json file = example();
    file[json::json_pointer(pointer)] = value;
    return error_of(file.dump());
  };
  EXPECT_THAT(with("/model/vocab/a", 1), HasSubstr("the id 1 belongs to `a` and to `b`"));
  EXPECT_THAT(with("/model/vocab/a", 9), HasSubstr("`a` has the id 9, which must be below 9, the number of entries"));
  EXPECT_THAT(with("/model/vocab/a", 2147483647), HasSubstr("must be below 9"));
  EXPECT_THAT(with("/model/vocab/a", 18446744073709551615u), HasSubstr("the id of `a` is not a number between"));
  EXPECT_THAT(with("/model/vocab/a", -1), HasSubstr("the id of `a` is not a number between"));
  EXPECT_THAT(with("/model/vocab/a", 0.5), HasSubstr("the id of `a` is not a number between"));
  EXPECT_THAT(with("/model/vocab/a", "0"), HasSubstr("the id of `a` is not a number between"));
  EXPECT_THAT(with("/model/vocab", json::array()), HasSubstr("model.vocab is not an object"));
  EXPECT_THAT(with("/model/merges/0", "b d"), HasSubstr("merge 0 needs `d`, which the vocabulary lacks"));
  EXPECT_THAT(with("/model/merges/0", "a b"), HasSubstr("merge 0 needs `ab`"));
  EXPECT_THAT(with("/model/merges/0", 7), HasSubstr("merge 0 is not a pair"));
  EXPECT_THAT(with("/model/merges", "b c"), HasSubstr("model.merges is not a list"));
  EXPECT_THAT(with("/added_tokens/0/content", ""), HasSubstr("no text or empty"));
  EXPECT_THAT(with("/added_tokens/0/content", "<x>y"), HasSubstr("`<x>y` has the ids 6 and 7"));
  EXPECT_THAT(with("/added_tokens/0/id", 0), HasSubstr("the id 0 belongs to `a` and to `<x>`"));
  EXPECT_THAT(with("/added_tokens/0", 5), HasSubstr("`content` is missing"));
  EXPECT_THAT(with("/added_tokens", 5), HasSubstr("added_tokens is not a list"));
  EXPECT_THAT(with("/model", 5), HasSubstr("`type` is missing"));
  EXPECT_THAT(with("/decoder", 5), HasSubstr("`type` is missing"));
  EXPECT_THAT(with("/model/type", 5), HasSubstr("model.type is not a text"));
  EXPECT_THAT(error_of("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("pre_tokenizer null"));
  EXPECT_THAT(error_of(std::string(1000000, '[')), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(std::string("{\"model\": \"\xFF\"}")), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace drift
