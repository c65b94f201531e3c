// Ids to text, in pieces and in one go.

#include <core/text/byte_alphabet.h>
#include <core/text/tokenizer.h>
#include <core/text/utf8.h>

#include "tests/support/support.h"
#include "tests/support/tokenizers.h"

namespace drift::stream_decoder_test {

using nlohmann::json;
using Ids = std::vector<std::int64_t>;

// Every byte is a token, its id the byte's value; 256 is special.
const Tokenizer& bytes() {
  static const Tokenizer tokenizer = [] {
    json file = test::small_tokenizer();
    file["added_tokens"] = {{{"id", 256}, {"content", "<end>"}, {"special", true}}};
    file["model"]["merges"] = json::array();
    json& vocabulary = file["model"]["vocab"] = json::object();
    for (int byte = 0; byte < 256; ++byte) vocabulary[byte_character(static_cast<unsigned char>(byte))] = byte;
    return test::open_tokenizer(file);
  }();
  return tokenizer;
}

Ids ids_of(const std::string& text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

TEST(StreamDecoder, ShowsCompleteCharacters) {
  StreamDecoder stream(bytes(), /*skip_special=*/true);
  EXPECT_EQ(stream.push('a'), "a");
  EXPECT_EQ(stream.push(0xF0), "");
  EXPECT_EQ(stream.push(0x9F), "");
  EXPECT_EQ(stream.push(0x91), "");
  EXPECT_EQ(stream.push(0xA9), "\U0001F469");
  EXPECT_EQ(stream.flush(), "");
}

TEST(StreamDecoder, GivesUpOnACharacterThatCannotBecomeComplete) {
  StreamDecoder stream(bytes(), /*skip_special=*/true);
  EXPECT_EQ(stream.push(0xE2), "");
  EXPECT_EQ(stream.push('z'), "\uFFFDz");
  EXPECT_EQ(stream.push(0xFF), "\uFFFD") << "no character begins so";
  EXPECT_EQ(stream.push(0xE2), "");
  EXPECT_EQ(stream.push(0x82), "");
  EXPECT_EQ(stream.flush(), "\uFFFD");
  EXPECT_EQ(stream.push('a'), "a") << "a new text";
}

TEST(StreamDecoder, SkipsSpecialTokens) {
  StreamDecoder skipping(bytes(), /*skip_special=*/true);
  StreamDecoder keeping(bytes(), /*skip_special=*/false);
  for (const std::int64_t id : {0xC3, 256}) {
    EXPECT_EQ(skipping.push(id), "");
    EXPECT_EQ(keeping.push(id), id == 256 ? "\uFFFD<end>" : "");
  }
  EXPECT_EQ(skipping.push(0xA9), "é") << "a skipped token leaves no trace";
}

TEST(StreamDecoder, JoinsToWhatDecodeMakes) {
  const std::string samples[] = {"plain",
                                 "é日\U0001F469\u200D\U0001F4BB",
                                 "a\xE2\x82z",
                                 "\xF0\x9F\x91",
                                 "\xC0\xAF\xED\xA0\x80",
                                 "\xF4\x90\x80\x80",
                                 "\xE2\xE2\x82\xAC",
                                 "\xF0\x9F\xF0\x9F\x91\xA9\x80"};
  for (const std::string& sample : samples) {
    StreamDecoder stream(bytes(), /*skip_special=*/false);
    std::string joined;
    for (const std::int64_t id : ids_of(sample)) {
      const std::string text = stream.push(id);
      EXPECT_TRUE(is_valid_utf8(text));
      joined += text;
    }
    EXPECT_EQ(joined + stream.flush(), bytes().decode(ids_of(sample), false));
  }
}

}  // namespace drift::stream_decoder_test
