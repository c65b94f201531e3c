// What happens to a text before byte-pair merging: added tokens, normalisation, patterns; and what BPE does with
// characters that the vocabulary lacks. More of it, against the `tokenizers` package:
// tests/golden/tokenizer_golden_test.

#include <core/text/split_pattern.h>
#include <core/text/tokenizer.h>
#include <drift/error.h>

#include "tests/support/support.h"
#include "tests/support/tokenizers.h"

namespace drift::text_pipeline_test {

using nlohmann::json;
using test::open_tokenizer;
using test::small_tokenizer;
using namespace testing;

std::vector<std::string> parts_of(const std::string& pattern, const std::string& text) {
  const std::string_view whole = text;
  std::vector<std::string_view> parts;
  SplitPattern(pattern).split(std::span(&whole, 1), parts);
  return {parts.begin(), parts.end()};
}

std::string pattern_error(const std::string& pattern) {
  return test::what_of([&] { SplitPattern{pattern}; });
}

constexpr const char* kWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The same words, written by others.
constexpr const char* kPossessive =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";

TEST(SplitPattern, CutsIntoWordsNumbersAndSpaces) {
  for (const char* pattern : {kWords, kPossessive}) {
    EXPECT_THAT(parts_of(pattern, "don't I'LL"), ElementsAre("don", "'t", " I", "'LL"));
    EXPECT_THAT(parts_of(pattern, "x = 123"), ElementsAre("x", " =", " ", "1", "2", "3"));
    EXPECT_THAT(parts_of(pattern, "a   b"), ElementsAre("a", "  ", " b")) << "the last space goes with the word";
    EXPECT_THAT(parts_of(pattern, "end.\n\n  next"), ElementsAre("end", ".\n\n", " ", " next"));
    EXPECT_THAT(parts_of(pattern, "日本語 и ἐγώ"), ElementsAre("日本語", " и", " ἐγώ"));
    EXPECT_THAT(parts_of(pattern, "a  "), ElementsAre("a", "  "));
    EXPECT_THAT(parts_of(pattern, ""), ElementsAre());
  }
}

TEST(SplitPattern, KeepsTheTextBetweenMatches) {
  EXPECT_THAT(parts_of("b+", "abba"), ElementsAre("a", "bb", "a"));
  EXPECT_THAT(parts_of("x*", "aé"), ElementsAre("a", "é")) << "an empty match cuts";
  EXPECT_THAT(parts_of("(?<=a)", "aab"), ElementsAre("a", "a", "b"));
}

TEST(SplitPattern, WhiteSpaceIsThatOfUnicode) {
  EXPECT_THAT(parts_of("\\s", "a\u00A0b\u3000c\u180Ed"), ElementsAre("a", "\u00A0", "b", "\u3000", "c\u180Ed"));
  EXPECT_THAT(parts_of("[\\s]", "a\u0085b"), ElementsAre("a", "\u0085", "b"));
  EXPECT_THAT(parts_of("\\S+", "ab\u2003c"), ElementsAre("ab", "\u2003", "c"));
}

TEST(SplitPattern, ScriptsDoNotTakeSharedCharacters) {
  EXPECT_THAT(parts_of("\\p{Han}+", "漢。字"), ElementsAre("漢", "。", "字"));
  EXPECT_THAT(parts_of("\\p{^L}+", "a12b"), ElementsAre("a", "12", "b"));
}

TEST(SplitPattern, RefusesWhatLibrariesUnderstandDifferently) {
  EXPECT_THAT(pattern_error("a$"), HasSubstr("uses `$` at character 2"));
  EXPECT_THAT(pattern_error("\\w+"), HasSubstr("`\\w`"));
  EXPECT_THAT(pattern_error("\\h"), HasSubstr("`\\h`"));
  EXPECT_THAT(pattern_error("[a-z&&[^x]]"), HasSubstr("intersections"));
  EXPECT_THAT(pattern_error("[[:alpha:]]"), HasSubstr("classes inside classes"));
  EXPECT_THAT(pattern_error("[^\\S]"), HasSubstr("write the class with \\s"));
  EXPECT_THAT(pattern_error("a{2}+"), HasSubstr("another repetition"));
  EXPECT_THAT(pattern_error("(?<name>a)"), HasSubstr("supported groups are"));
  EXPECT_THAT(pattern_error("(*UTF8)a"), HasSubstr("verbs"));
  EXPECT_THAT(pattern_error("(a"), HasSubstr("is not valid: missing closing parenthesis"));
  EXPECT_THAT(pattern_error("\\p{Klingon}"), HasSubstr("is not valid: unknown property"));
}

TEST(SplitPattern, EndsAHostilePattern) {
  EXPECT_THAT(test::what_of([] { parts_of("(?:a+)+[bc]", std::string(40, 'a')); }),
              HasSubstr("`(?:a+)+[bc]` cannot be matched at byte 0 of a text: match limit exceeded"))
      << "2^40 ways to match";
}

TEST(SplitPattern, LongRunsNeedNoStack) {
  const std::string spaces(1 << 20, ' ');
  EXPECT_THAT(parts_of(kWords, spaces + "x"), ElementsAre(spaces.substr(1), " x"));
  EXPECT_THAT(parts_of("(?:ab|c)+", spaces + "abc"), ElementsAre(spaces, "abc"));
}

// ---- normalisation -------------------------------------------------------------------------------------------------

json with_normaliser() {
  json file = small_tokenizer();
  file["normalizer"] = {{"type", "NFC"}};
  file["pre_tokenizer"] = nullptr;  // characters as they are, so that the test shows what they become
  file["model"]["vocab"] = {{"e", 0}, {"é", 1}, {"\u0301", 2}, {"각", 3}, {">", 4}, {"\u0338", 5}};
  file["model"]["merges"] = json::array();
  file["added_tokens"] = json::array();
  return file;
}

TEST(TextPipeline, ComposesCharacters) {
  const Tokenizer tokenizer = open_tokenizer(with_normaliser());
  EXPECT_THAT(tokenizer.encode("e\u0301"), ElementsAre(1));
  EXPECT_THAT(tokenizer.encode("é\u0301"), ElementsAre(1, 2));
  EXPECT_THAT(tokenizer.encode("\u1100\u1161\u11A8"), ElementsAre(3)) << "jamo become a syllable";
  EXPECT_THAT(tokenizer.encode("\uAC00\u11A8"), ElementsAre(3));
  json nested = with_normaliser();
  nested["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
  EXPECT_THAT(open_tokenizer(nested).encode("e\u0301"), ElementsAre(1));
}

TEST(TextPipeline, PutsMarksInOrder) {
  json file = with_normaliser();
  file["model"]["vocab"] = {{"q", 0}, {"\u0301", 1}, {"\u0327", 2}, {"ȩ", 3}, {"\u1100", 4}, {"\u11A7", 5}};
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_THAT(tokenizer.encode("q\u0301\u0327q\u0327\u0301"), ElementsAre(0, 2, 1, 0, 2, 1));
  EXPECT_THAT(tokenizer.encode("e\u0301\u0327"), ElementsAre(3, 1)) << "the cedilla comes first and joins the letter";
  EXPECT_THAT(tokenizer.encode("\u1100\u11A7"), ElementsAre(4, 5)) << "not a final consonant";

  std::string text = "q";
  std::vector<std::int64_t> ordered = {0};
  ordered.insert(ordered.end(), 50000, 2);
  ordered.insert(ordered.end(), 50000, 1);
  for (int i = 0; i < 50000; ++i) text += "\u0301\u0327";
  EXPECT_EQ(tokenizer.encode(text), ordered);
}

TEST(TextPipeline, AddedTokensAreLookedForBeforeOrAfterNormalisation) {
  json file = with_normaliser();
  file["added_tokens"] = {{{"id", 9}, {"content", "<é>"}, {"normalized", true}},
                          {{"id", 10}, {"content", "<e\u0301|>"}, {"normalized", true}},
                          {{"id", 11}, {"content", "<m>"}, {"normalized", false}}};
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_THAT(tokenizer.encode("<e\u0301><é>"), ElementsAre(9, 9));
  EXPECT_THAT(tokenizer.encode("<é|><e\u0301|>"), ElementsAre(10, 10));
  EXPECT_THAT(tokenizer.encode("<m>\u0338"), ElementsAre(11, 5)) << "a mark does not reach into a token";
}

// ---- added tokens --------------------------------------------------------------------------------------------------

json with_token(const json& flags) {
  json file = small_tokenizer();
  file["model"]["vocab"]["_"] = 10;
  file["model"]["vocab"]["Ċ"] = 11;
  file["added_tokens"] = {{{"id", 9}, {"content", "<x>"}, {"normalized", false}}};
  file["added_tokens"][0].update(flags);
  return file;
}

TEST(TextPipeline, ATokenMayTakeTheSpaceAtItsSide) {
  const Tokenizer left = open_tokenizer(with_token({{"lstrip", true}}));
  EXPECT_THAT(left.encode("a \n <x> b"), ElementsAre(0, 9, 3, 1));
  const Tokenizer right = open_tokenizer(with_token({{"rstrip", true}}));
  EXPECT_THAT(right.encode("a <x> \n b"), ElementsAre(0, 3, 9, 1));
  const Tokenizer both = open_tokenizer(with_token({{"lstrip", true}, {"rstrip", true}}));
  EXPECT_THAT(both.encode(" <x>  <x> a"), ElementsAre(9, 9, 0));
}

TEST(TextPipeline, ATokenMayHaveToStandAlone) {
  json file = with_token({{"single_word", true}, {"content", "bc"}, {"id", 4}});
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_THAT(tokenizer.encode("bc a bc"), ElementsAre(4, 3, 0, 3, 4));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("abc"), true), "abc");
  EXPECT_THAT(tokenizer.encode("_bc"), ElementsAre(10, 4)) << "merged, for an underscore is part of a word";
  EXPECT_THAT(tokenizer.encode("abc"), ElementsAre(5));
}

// ---- characters without a piece ------------------------------------------------------------------------------------

json without_pieces(const json& settings) {
  json file = small_tokenizer();
  file["added_tokens"] = json::array();
  file["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}, {"<unk>", 3}, {"<0xC3>", 4}, {"<0xA9>", 5}};
  file["model"]["merges"] = {"a b"};
  file["pre_tokenizer"] = nullptr;
  file["model"].update(settings);
  return file;
}

TEST(TextPipeline, UnknownCharactersMayHaveAToken) {
  EXPECT_THROW(open_tokenizer(without_pieces(json::object())).encode("ax"), Error);
  const Tokenizer each = open_tokenizer(without_pieces({{"unk_token", "<unk>"}}));
  EXPECT_THAT(each.encode("abxyab"), ElementsAre(2, 3, 3, 2));
  const Tokenizer fused = open_tokenizer(without_pieces({{"unk_token", "<unk>"}, {"fuse_unk", true}}));
  EXPECT_THAT(fused.encode("abxyab"), ElementsAre(2, 3, 2));
}

TEST(TextPipeline, ACharacterMayBeSpeltInPiecesOfItsBytes) {
  const Tokenizer tokenizer = open_tokenizer(without_pieces({{"unk_token", "<unk>"}, {"byte_fallback", true}}));
  EXPECT_THAT(tokenizer.encode("abéa"), ElementsAre(2, 4, 5, 0));
  EXPECT_THAT(tokenizer.encode("è"), ElementsAre(3)) << "<0xA8> is missing";
}

TEST(TextPipeline, AWordMayBeAPieceWithoutMerges) {
  json file = small_tokenizer();
  file["model"]["vocab"]["Ġa"] = 9;
  file["model"]["vocab"]["ba"] = 10;
  file["model"]["ignore_merges"] = true;
  file["pre_tokenizer"]["use_regex"] = true;
  const Tokenizer tokenizer = open_tokenizer(file);
  EXPECT_THAT(tokenizer.encode("ba a"), ElementsAre(10, 9));
  EXPECT_THAT(tokenizer.encode("baa"), ElementsAre(1, 0, 0)) << "no word of the vocabulary, and nothing to merge";
}

}  // namespace drift::text_pipeline_test
