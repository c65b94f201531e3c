// Any text with two tokenizers that can spell every byte: one leaves texts as they are, so that they come back byte for
// byte; the other normalises them. And any ids.

#include <core/text/byte_alphabet.h>
#include <core/text/patterns.h>
#include <core/text/tokenizer.h>
#include <core/text/utf8.h>
#include <tests/fuzz/fuzz.h>

#include <nlohmann/json.hpp>

#include <vector>

namespace drift::tokenizer_text_fuzzer {
namespace {

using drift::fuzz::require;
using nlohmann::json;
using Ids = std::vector<std::int64_t>;

// All bytes, some merges within and across characters, and two added tokens of which one begins like the other.
drift::Tokenizer make_tokenizer(const json& normaliser) {
  json vocabulary = json::object();
  for (int byte = 0; byte < 256; ++byte) vocabulary[drift::byte_character(static_cast<unsigned char>(byte))] = byte;
  json merges = json::array();
  for (const std::string pair :
       {"Ġ Ġ", "ĠĠ ĠĠ", "a b", "b c", "ab c", "a bc", "Ġ abc", "Ã ©", "e Ì", "Ċ Ċ", "' s", "1 2"}) {
    const std::size_t space = pair.find(' ');
    const std::string left = pair.substr(0, space), right = pair.substr(space + 1);
    vocabulary.emplace(left + right, vocabulary.size());
    merges.push_back({left, right});
  }
  const std::size_t pieces = vocabulary.size();
  const json split = {{"type", "Split"},
                      {"pattern", {{"Regex", drift::kVocabularyFilesPattern}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const json file = {{"normalizer", normaliser},
                     {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}}},
                     {"decoder", byte_level},
                     {"added_tokens",
                      {{{"id", pieces}, {"content", "<|"}, {"special", true}},
                       {{"id", pieces + 1}, {"content", "<|end|>"}, {"special", false}}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
  return drift::Tokenizer::parse(file.dump(), "fixed");
}

void check_decoding(const drift::Tokenizer& tokenizer, const Ids& ids) {
  for (const bool skip_special : {false, true}) {
    const std::string decoded = tokenizer.decode(ids, skip_special);
    require(drift::is_valid_utf8(decoded));
    drift::StreamDecoder stream(tokenizer, skip_special);
    std::string streamed;
    for (const std::int64_t id : ids) {
      const std::string part = stream.push(id);
      require(drift::is_valid_utf8(part));
      streamed += part;
    }
    require(streamed + stream.flush() == decoded);
  }
}

}  // namespace

DRIFT_FUZZ_TARGET(tokenizer_text) {
  static const drift::Tokenizer plain = make_tokenizer(nullptr);
  static const drift::Tokenizer normalising = make_tokenizer({{"type", "NFC"}});
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  const Ids ids = plain.encode(text);
  require(plain.decode(ids, false) == drift::valid_utf8(text));
  check_decoding(plain, ids);
  check_decoding(normalising, normalising.encode(text));

  Ids any;
  for (std::size_t i = 0; i < size; ++i) any.push_back((data[i] * 3) % plain.vocabulary_size());
  check_decoding(plain, any);
  return 0;
}

}  // namespace drift::tokenizer_text_fuzzer
