#include <core/base/log.h>
#include <core/base/quote.h>
#include <core/io/atomic.h>
#include <core/io/file_error.h>
#include <core/text/json_file.h>
#include <core/text/patterns.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;

class VocabularyReader {
 public:
  explicit VocabularyReader(const fs::path& folder) : folder_(folder), builder_((folder / "vocab.json").string()) {}

  TokenizerFile read() {
    builder_.file().nfc = true;
    builder_.file().patterns = {std::string(kVocabularyFilesPattern)};
    read_vocabulary();
    read_merges();
    next_id_ = builder_.next_id();
    // As transformers has it: with a list in tokenizer_config.json, the two files that once held it are not read.
    if (reading("tokenizer_config.json") && read_added_tokens_decoder()) {
      if (reading("added_tokens.json")) warn_of_other_tokens();
    } else {
      if (reading("added_tokens.json")) read_added_tokens();
      if (reading("special_tokens_map.json")) read_special_tokens();
    }
    builder_.rename(folder_.string());
    for (const auto& [text, token] : tokens_) builder_.add_token(token);
    return std::move(builder_.file());
  }

 private:
  // Whether there is such a file; errors then name it.
  bool reading(const char* name) {
    builder_.rename((folder_ / name).string());
    path_ = folder_ / name;
    return is_there(path_);
  }

  void read_vocabulary() {
    const JsonFile json(folder_ / "vocab.json", builder_);
    const auto vocabulary = json.object(json.root(), "the file");
    builder_.file().model.vocabulary.reserve(vocabulary.size());
    for (const auto [piece, id] : vocabulary) builder_.add_piece(piece, json.id(id, piece));
  }

  // A merge a line; the first line may be a comment with a version.
  void read_merges() {
    if (!reading("merges.txt")) builder_.fail("the file cannot be opened", "a vocab.json needs its merges.txt");
    const std::string text = read_whole_file(path_);
    builder_.file().model.merges.reserve(static_cast<std::size_t>(std::ranges::count(text, '\n')));
    std::string_view rest = text;
    for (bool first = true; !rest.empty(); first = false) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || (first && line.starts_with("#version:"))) continue;
      builder_.add_merge(line);
    }
  }

  // {"151643": {"content": "<|endoftext|>", "special": true, …}, …}, and the special tokens by their part. False: there
  // is no such list.
  bool read_added_tokens_decoder() {
    const JsonFile json(path_, builder_);
    const auto decoder = JsonFile::find(json.root(), "added_tokens_decoder");
    if (!decoder) return false;
    for (const auto [key, token] : json.object(*decoder, "added_tokens_decoder")) {
      const std::string_view content = json.text(token, "content");
      std::int32_t id = -1;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= kTokenIdLimit) {
        builder_.damaged("the key " + quoted_name(key) + " of added_tokens_decoder is not a token id");
      }
      keep(json.added_token(token, content, id));
    }
    for (const auto [key, value] : json.object(json.root(), "the file")) {
      const bool names_one = key.ends_with("_token") && (value.is_string() || value.is_object());
      const bool names_several = key == "additional_special_tokens" || key == "extra_special_tokens";
      if (names_one || (names_several && value.is_array())) read_special_tokens(json, value);
    }
    return true;
  }

  void warn_of_other_tokens() const {
    const JsonFile json(path_, builder_);
    std::string other;
    for (const auto [text, value] : json.object(json.root(), "the file")) {
      const std::int32_t id = json.id(value, text);
      const auto known = tokens_.find(std::string(text));
      if (known == tokens_.end() || known->second.id != id) other = quoted_name(text) + " = " + std::to_string(id);
    }
    if (!other.empty())
      log_warning(path_.string() + " names " + other + ", tokenizer_config.json does not: the latter counts");
  }

  // {"<|endoftext|>": 151643, …}: their other properties are elsewhere.
  void read_added_tokens() {
    const JsonFile json(path_, builder_);
    for (const auto [text, value] : json.object(json.root(), "the file")) {
      const std::int32_t id = json.id(value, text);
      keep({.id = id, .text = std::string(text)});
    }
  }

  // {"eos_token": "<|endoftext|>", "bos_token": {"content": …}, "additional_special_tokens": [ … ]}
  void read_special_tokens() {
    const JsonFile json(path_, builder_);
    for (const auto [key, value] : json.object(json.root(), "the file")) read_special_tokens(json, value);
  }

  void read_special_tokens(const JsonFile& json, JsonValue value) {
    if (value.is_array()) {
      for (const JsonValue each : json.list(value, "the file")) read_special_token(json, each);
    } else if (!value.is_null()) {
      read_special_token(json, value);
    }
  }

  void read_special_token(const JsonFile& json, JsonValue value) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) text = json.text(value, "content");
    if (text.empty()) builder_.damaged("a special token has no text");
    if (const auto known = tokens_.find(std::string(text)); known != tokens_.end()) {
      known->second.special = true;
      return;
    }
    const std::int32_t piece = builder_.find(text);
    if (piece < 0 && next_id_ >= kTokenIdLimit) builder_.damaged("there is no id left for " + quoted_name(text));
    keep({.id = piece >= 0 ? piece : next_id_, .text = std::string(text), .special = true});
  }

  // If the ids agree, the properties from the file that was read earlier are kept.
  void keep(AddedToken token) {
    const auto [known, is_new] = tokens_.emplace(token.text, token);
    if (!is_new && known->second.id != token.id) {
      builder_.damaged(quoted_name(token.text) + " has the ids " + std::to_string(known->second.id) + " and " +
                       std::to_string(token.id));
    }
    next_id_ = std::max(next_id_, token.id + 1);
  }

  fs::path folder_;
  fs::path path_;
  TokenizerFileBuilder builder_;
  std::map<std::string, AddedToken> tokens_;
  std::int32_t next_id_ = 0;
};

}  // namespace

TokenizerFile read_vocabulary_files(const fs::path& folder) { return VocabularyReader(folder).read(); }

}  // namespace drift
