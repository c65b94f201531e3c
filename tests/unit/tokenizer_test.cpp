// Text <-> token ids, after a checkpoint's tokenizer.json.

#include <core/text/tokenizer.h>
#include <core/text/utf8.h>
#include <drift/error.h>

#include "tests/support/support.h"
#include "tests/support/tokenizers.h"

namespace drift::tokenizer_test {

using nlohmann::json;
using test::open_tokenizer;
using test::small_tokenizer;
using namespace testing;
using Ids = std::vector<std::int64_t>;

const Tokenizer& shipped() {
  static const Tokenizer tokenizer = Tokenizer::open(test::source_dir() / "assets" / "sudoku-llada");
  return tokenizer;
}

TEST(Tokenizer, TheShippedVocabularyHasTwentyThreeTokens) {
  std::vector<std::string> pieces = {"<|endoftext|>", "<|mask|>", "<|startoftext|>", "<|sep|>"};
  for (const char c : std::string("\n0123456789+-*/()=,")) pieces.emplace_back(1, c);
  ASSERT_EQ(shipped().vocabulary_size(), 23);
  for (std::int64_t id = 0; id < 23; ++id) {
    EXPECT_EQ(shipped().piece(id), pieces[static_cast<std::size_t>(id)]);
    EXPECT_THAT(shipped().encode(shipped().piece(id)), ElementsAre(id));
  }
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
  const auto message = [](const std::string& text) { return test::what_of([&] { shipped().encode(text); }); };
  EXPECT_THAT(message("12a"), HasSubstr("`a` (byte 0x61) at byte 2"));
  EXPECT_THAT(message("1é"), HasSubstr("`é` (byte 0xC3) at byte 1"));
  EXPECT_THAT(message("1 2"), HasSubstr("no token for byte 0x20 at byte 1"));
  EXPECT_THAT(message(std::string("1\0", 2)), HasSubstr("byte 0x00 at byte 1"));
  EXPECT_THAT(message("\xFF"), HasSubstr("`\uFFFD` (byte 0xEF) at byte 0")) << "what the broken byte is read as";
  EXPECT_THAT(message("<|mask|"), HasSubstr("`<`"));
  EXPECT_THAT(message("Ċ"), HasSubstr("0xC4")) << "the alphabet's own characters are texts like any other";
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  EXPECT_THROW(shipped().piece(23), Error);
  EXPECT_THROW(shipped().piece(-1), Error);
  EXPECT_THROW(shipped().decode(Ids{1, 126464}, true), Error);
}

TEST(Tokenizer, MergesByRank) {
  const Tokenizer tokenizer = open_tokenizer(small_tokenizer());
  EXPECT_THAT(tokenizer.encode("abc"), ElementsAre(5));
  EXPECT_THAT(tokenizer.encode("abcbca b"), ElementsAre(5, 4, 0, 3, 1));
  EXPECT_EQ(tokenizer.decode(Ids{5, 3, 4}, false), "abc bc");

  json two_forms = small_tokenizer();
  two_forms["model"]["merges"] = json::array({json::array({"b", "c"}), json::array({"a", "bc"})});
  EXPECT_THAT(open_tokenizer(two_forms).encode("abcbca b"), ElementsAre(5, 4, 0, 3, 1));

  json other_order = small_tokenizer();
  other_order["model"]["vocab"]["aa"] = 9;
  other_order["model"]["merges"] = {"a a", "b c"};
  EXPECT_THAT(open_tokenizer(other_order).encode("aaabc"), ElementsAre(9, 0, 4)) << "leftmost first";
}

TEST(Tokenizer, TakesTheLongestAddedToken) {
  const Tokenizer tokenizer = open_tokenizer(small_tokenizer());
  EXPECT_THAT(tokenizer.encode("a<x>ya<x>a"), ElementsAre(0, 7, 0, 6, 0));
  EXPECT_EQ(tokenizer.decode(Ids{7, 6, 8, 0}, true), "<x>ya") << "an added token that is not special stays";
  EXPECT_EQ(tokenizer.decode(Ids{8}, false), "é!") << "added tokens are texts, not byte characters";
}

TEST(Tokenizer, MayTakeSpecialTokensForText) {
  json file = small_tokenizer();
  for (const char* letter : {"<", "x", ">", "y"}) file["model"]["vocab"][letter] = 9 + file["model"]["vocab"].size();
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_THAT(tokenizer.encode("<x>a"), ElementsAre(6, 0));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("<x>a", SpecialTokens::kAsText), /*skip_special=*/true), "<x>a");
  EXPECT_THAT(tokenizer.encode("<x>y", SpecialTokens::kAsText), ElementsAre(7)) << "added, but not special";
}

TEST(Tokenizer, JoinsBytesBeforeItReadsThemAsUtf8) {
  json file = small_tokenizer();
  file["model"]["vocab"] = {{"Ã", 0}, {"©", 1}};  // the two bytes of é
  file["model"]["merges"] = json::array();
  file["added_tokens"] = json::array();
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_THAT(tokenizer.encode("é"), ElementsAre(0, 1));
  EXPECT_EQ(tokenizer.decode(Ids{0, 1}, false), "é");
  EXPECT_EQ(tokenizer.decode(Ids{1, 0}, false), "\uFFFD\uFFFD");
  EXPECT_EQ(tokenizer.piece(0), "\xC3");
}

TEST(Tokenizer, ReadsBrokenUtf8AsReplacementCharacters) {
  json file = small_tokenizer();
  file["model"]["vocab"] = {{"ï", 0}, {"¿", 1}, {"½", 2}, {"a", 3}};  // U+FFFD is EF BF BD
  file["model"]["merges"] = json::array();
  file["added_tokens"] = json::array();
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_THAT(tokenizer.encode("a\xE2\x82"
                               "a"),
              ElementsAre(3, 0, 1, 2, 3));
  EXPECT_THAT(tokenizer.encode("\xFF\xFF"), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Tokenizer, ReplacesEachMaximalInvalidPart) {
  EXPECT_EQ(valid_utf8("a\xE2\x82z"), "a\uFFFDz") << "a truncated character is one part";
  EXPECT_EQ(valid_utf8("\xF0\x9F\x91\xA9"), "\U0001F469");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\uFFFD\uFFFD") << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD") << "above U+10FFFF";
}

}  // namespace drift::tokenizer_test
