// The tokenizer of models that have learned none: each byte a token, and a text for every other id.

#include <core/text/shape_tokenizer.h>
#include <core/text/tokenizer.h>

#include <drift/error.h>

#include <gmock/gmock.h>

namespace drift::byte_tokenizer_test {

Tokenizer made(std::int64_t vocabulary) {
  return Tokenizer::parse(byte_tokenizer_json({{3, "<|mask|>"}, {400, "<|end|>"}}, vocabulary), "made");
}

TEST(ByteTokenizer, EveryByteIsAToken) {
  const Tokenizer tokenizer = made(500);
  std::string text;
  for (int code = 1; code < 0x250; ++code)
    text += code < 0x80 ? std::string(1, static_cast<char>(code))
                        : std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  const auto ids = tokenizer.encode(text);
  EXPECT_EQ(ids.size(), text.size());
  EXPECT_EQ(tokenizer.decode(ids, false), text);
  for (const std::int64_t id : ids) EXPECT_LE(id, 256);
}

TEST(ByteTokenizer, SpecialTokensHaveTheirIds) {
  const Tokenizer tokenizer = made(500);
  EXPECT_EQ(tokenizer.encode("a<|end|><|mask|>"), (std::vector<std::int64_t>{'a' + 1, 400, 3}));
  EXPECT_TRUE(tokenizer.is_special(400));
  EXPECT_EQ(tokenizer.decode(std::vector<std::int64_t>{400}, true), "");
}

TEST(ByteTokenizer, EveryOtherIdIsItsNumber) {
  const Tokenizer tokenizer = made(500);
  EXPECT_EQ(tokenizer.vocabulary_size(), 500);
  for (std::int64_t id = 0; id < 500; ++id) EXPECT_TRUE(tokenizer.has_token(id)) << id;
  EXPECT_EQ(tokenizer.decode(std::vector<std::int64_t>{257, 499}, false), "257499");
  EXPECT_EQ(tokenizer.encode("257").size(), 3u) << "which only a model writes";
}

TEST(ByteTokenizer, NeedsRoomForTheBytes) {
  EXPECT_NO_THROW(byte_tokenizer_json({{0, "<|end|>"}}, 257));
  EXPECT_THROW(byte_tokenizer_json({{0, "<|end|>"}}, 256), Error);
}

}  // namespace drift::byte_tokenizer_test
