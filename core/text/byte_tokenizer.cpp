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

/// A JSON object, as text: it may have 150,000 entries.
std::string vocabulary_json(const std::map<std::int64_t, std::string>& special_tokens, std::int64_t vocabulary_size) {
  std::string vocabulary;
  int byte = 0;
  for (std::int64_t id = 0; id < vocabulary_size; ++id) {
    if (special_tokens.contains(id)) continue;
    const std::string text = byte < 256 ? byte_character(static_cast<unsigned char>(byte++)) : std::to_string(id);
    vocabulary += (vocabulary.empty() ? "{" : ",") + Json(text).dump() + ":" + std::to_string(id);
  }
  if (byte < 256) {
    throw Error("a vocabulary of " + std::to_string(vocabulary_size) + " ids has no room for 256 bytes and " +
                    std::to_string(special_tokens.size()) + " special tokens",
                "give the model's folder a tokenizer, or its config.json a larger vocabulary");
  }
  return vocabulary + "}";
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
                       {"vocab", nullptr},
                       {"merges", Json::array()}}}};
  return replace_json_value(json_text(file), {"model", "vocab"}, vocabulary_json(special_tokens, vocabulary_size)) +
         "\n";
}

}  // namespace drift
