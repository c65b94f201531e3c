#include <core/text/shape_tokenizer.h>

#include <core/io/file_error.h>
#include <core/text/byte_tokenizer.h>

#include <drift/model.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

namespace drift {
namespace {

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

}  // namespace drift
