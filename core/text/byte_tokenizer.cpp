#include <core/text/byte_tokenizer.h>

#include <core/io/json.h>
#include <core/text/byte_alphabet.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

Json added_token(std::int64_t id, const std::string& text) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

/// Ids of the bytes, in order.
Json byte_vocabulary(const std::map<std::int64_t, std::string>& special_tokens, std::int64_t vocabulary_size) {
  Json vocabulary;
  std::int64_t id = 0;
  for (int byte = 0; byte < 256; ++byte, ++id) {
    while (special_tokens.contains(id)) ++id;
    if (id >= vocabulary_size) {
      throw Error("a vocabulary of " + std::to_string(vocabulary_size) + " ids has no room for 256 bytes and " +
                      std::to_string(special_tokens.size()) + " special tokens",
                  "give the model's folder a tokenizer, or its config.json a larger vocabulary");
    }
    vocabulary[byte_character(static_cast<unsigned char>(byte))] = id;
  }
  return vocabulary;
}

}  // namespace

std::string byte_tokenizer_json(const std::map<std::int64_t, std::string>& special_tokens,
                                std::int64_t vocabulary_size) {
  Json added = Json::array();
  for (const auto& [id, text] : special_tokens) added.push_back(added_token(id, text));
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  const Json file = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", byte_level},
                     {"post_processor", nullptr},
                     {"decoder", byte_level},
                     {"model",
                      {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", false},
                       {"vocab", byte_vocabulary(special_tokens, vocabulary_size)},
                       {"merges", Json::array()}}}};
  return json_text(file, 1) + "\n";
}

}  // namespace drift
