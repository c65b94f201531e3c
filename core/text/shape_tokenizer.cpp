#include <core/text/shape_tokenizer.h>

#include <core/io/file_error.h>
#include <core/io/json.h>
#include <core/text/byte_alphabet.h>

#include <drift/error.h>
#include <drift/model.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

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

/// `<|name|>`, as the model's chat formats write them.
std::set<std::string> chat_tokens(const ModelTraits& traits) {
  std::set<std::string> tokens;
  for (const ChatFormat& format : traits.chat_formats) {
    for (const std::string& text : {format.opening, format.turn_begin, format.turn_end, format.reply_begin}) {
      for (std::size_t at = 0; (at = text.find("<|", at)) != text.npos;) {
        const std::size_t end = text.find("|>", at);
        if (end == text.npos) break;
        tokens.insert(text.substr(at, end + 2 - at));
        at = end + 2;
      }
    }
  }
  return tokens;
}

/// The ids that the model declares, and below them those of its chat formats.
std::map<std::int64_t, std::string> special_tokens(const ModelTraits& traits) {
  std::map<std::int64_t, std::string> tokens{{traits.end_id, "<|endoftext|>"}};
  tokens.emplace(traits.pad_id, "<|padding|>");
  tokens.emplace(traits.mask_id, "<|mask|>");
  for (const std::int64_t end : end_ids(traits)) tokens.emplace(end, "<|end_" + std::to_string(end) + "|>");
  std::set<std::string> named;
  for (const auto& [id, text] : tokens) named.insert(text);
  std::int64_t id = std::min({traits.end_id, traits.pad_id, traits.mask_id});
  for (const std::string& text : chat_tokens(traits)) {
    if (named.contains(text)) continue;
    do {
      id = id == 0 ? traits.vocabulary_size - 1 : id - 1;
    } while (tokens.contains(id));
    tokens.emplace(id, text);
  }
  return tokens;
}

}  // namespace

bool has_tokenizer(const std::filesystem::path& folder) {
  return is_there(folder / "tokenizer.json") || is_there(folder / "vocab.json");
}

std::string shape_tokenizer_json(const ModelTraits& traits) {
  return byte_tokenizer_json(special_tokens(traits), traits.vocabulary_size);
}

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
