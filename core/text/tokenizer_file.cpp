#include <core/text/byte_alphabet.h>
#include <core/text/tokenizer_file.h>
#include <drift/error.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

namespace drift {
namespace {

using Json = nlohmann::json;

std::string quoted(std::string text) { return text.insert(0, 1, '`') += '`'; }

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {}

  TokenizerFile read() {
    const Json root = parse();
    require(root.is_object(), "it holds no JSON object");
    check_kinds(root);
    const Json& model = member(root, "model");
    check_model(model);
    read_vocabulary(member(model, "vocab"));
    if (root.contains("added_tokens")) read_added_tokens(root["added_tokens"]);
    place_pieces();
    if (model.contains("merges")) read_merges(model["merges"]);
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw Error("cannot use the tokenizer " + path_.string() + ": " + what, hint);
  }
  [[noreturn]] void damaged(const std::string& what) const {
    fail(what, "the file is damaged; copy it again from where the checkpoint came from");
  }
  void require(bool condition, const char* what) const {
    if (!condition) damaged(what);
  }
  [[noreturn]] void unknown(const std::string& what) const {
    fail(what + " is not supported", "byte-level BPE without normaliser, pattern or unknown token is supported");
  }

  Json parse() const {
    std::ifstream stream(path_, std::ios::binary);
    if (!stream) fail("the file cannot be opened", "a checkpoint folder needs a tokenizer.json");
    Json root = Json::parse(stream, nullptr, false);
    require(!root.is_discarded(), "it is not valid JSON");
    return root;
  }

  const Json& member(const Json& object, const char* key) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end()) damaged("the key " + quoted(key) + " is missing");
    return *found;
  }

  // "type" of a part, or nothing where the part is null or not there.
  std::optional<std::string> kind(const Json& root, const char* part) const {
    if (!root.contains(part) || root[part].is_null()) return std::nullopt;
    const Json& type = member(root[part], "type");
    if (!type.is_string()) damaged(std::string(part) + ".type is not a text");
    return type.get<std::string>();
  }

  // A flag of a part; `otherwise` where it is not written.
  bool flag(const Json& object, const char* key, bool otherwise) const {
    if (!object.contains(key) || object[key].is_null()) return otherwise;
    if (!object[key].is_boolean()) damaged(quoted(key) + " is neither true nor false");
    return object[key].get<bool>();
  }

  // `truncation` and `padding` are not read: whoever makes a batch pads it.
  void check_kinds(const Json& root) const {
    if (const auto normaliser = kind(root, "normalizer")) unknown("normalizer " + *normaliser);
    const auto pre_tokenizer = kind(root, "pre_tokenizer");
    if (pre_tokenizer != "ByteLevel") unknown("pre_tokenizer " + pre_tokenizer.value_or("null"));
    if (flag(root["pre_tokenizer"], "use_regex", true)) unknown("pre_tokenizer ByteLevel with use_regex");
    if (flag(root["pre_tokenizer"], "add_prefix_space", true)) unknown("pre_tokenizer ByteLevel with add_prefix_space");
    const auto decoder = kind(root, "decoder");
    if (decoder != "ByteLevel") unknown("decoder " + decoder.value_or("null"));
    // As a post-processor, ByteLevel moves offsets only.
    const auto post_processor = kind(root, "post_processor").value_or("ByteLevel");
    if (post_processor != "ByteLevel") unknown("post_processor " + post_processor);
  }

  void check_model(const Json& model) const {
    const Json& type = member(model, "type");
    require(type.is_string(), "model.type is not a text");
    if (type != "BPE") unknown("model " + type.get<std::string>());
    for (const char* key : {"byte_fallback", "ignore_merges"}) {
      if (flag(model, key, false)) unknown("model BPE with " + std::string(key));
    }
    for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const bool is_set = model.contains(key) && !model[key].is_null() && model[key] != "" && model[key] != 0.0;
      if (is_set) unknown("model BPE with " + std::string(key));
    }
  }

  std::int64_t id_of(const Json& id, const std::string& piece) const {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() <= INT32_MAX;
    if (!fits) damaged("the id of " + quoted(piece) + " is not a number between 0 and 2147483647");
    return id.get<std::int64_t>();
  }

  void read_vocabulary(const Json& vocabulary) {
    require(vocabulary.is_object(), "model.vocab is not an object");
    for (const auto& [piece, id] : vocabulary.items()) {
      claim(id_of(id, piece), piece, {bytes_of_piece(piece).value_or(piece), false, false});
      id_of_piece_.emplace(piece, id.get<std::int64_t>());
    }
  }

  void read_added_tokens(const Json& tokens) {
    require(tokens.is_array(), "added_tokens is not a list");
    for (const Json& token : tokens) {
      const Json& content = member(token, "content");
      require(content.is_string() && content != "", "the content of an added token is no text or empty");
      const auto text = content.get<std::string>();
      for (const char* key : {"single_word", "lstrip", "rstrip"}) {
        if (flag(token, key, false)) unknown("added token " + quoted(text) + " with " + key);
      }
      const std::int64_t id = id_of(member(token, "id"), text);
      claim(id, text, {text, true, flag(token, "special", false)});
    }
  }

  // An added token may repeat an entry of the vocabulary: same text, same id.
  void claim(std::int64_t id, const std::string& text, TokenizerFile::Piece piece) {
    const auto [owner, is_new] = owner_.emplace(id, text);
    if (!is_new && owner->second != text) {
      damaged("the id " + std::to_string(id) + " belongs to " + quoted(owner->second) + " and to " + quoted(text));
    }
    const auto [known, is_new_text] = id_of_text_.emplace(text, id);
    if (!is_new_text && known->second != id) {
      damaged(quoted(text) + " has the ids " + std::to_string(known->second) + " and " + std::to_string(id));
    }
    claimed_[id] = std::move(piece);
  }

  void place_pieces() {
    require(!claimed_.empty(), "its vocabulary is empty");
    file_.pieces.resize(claimed_.size());
    for (auto& [id, piece] : claimed_) {
      const auto index = static_cast<std::size_t>(id);
      if (index >= claimed_.size()) {
        damaged(quoted(owner_[id]) + " has the id " + std::to_string(id) + ", which must be below " +
                std::to_string(claimed_.size()) + ", the number of entries");
      }
      file_.pieces[index] = std::move(piece);
    }
    for (int byte = 0; byte < 256; ++byte) {
      const auto found = id_of_piece_.find(byte_character(static_cast<unsigned char>(byte)));
      file_.byte_id[static_cast<std::size_t>(byte)] = found == id_of_piece_.end() ? -1 : found->second;
    }
  }

  void read_merges(const Json& merges) {
    require(merges.is_array(), "model.merges is not a list");
    for (const Json& merge : merges) {
      const auto [left, right] = pair_of(merge);
      file_.merges.push_back({merged_piece(left), merged_piece(right), merged_piece(left + right)});
    }
  }

  // "left right", or ["left", "right"] in newer files.
  std::pair<std::string, std::string> pair_of(const Json& merge) const {
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const std::size_t space = text.find(' ');
      if (space != std::string::npos) return {text.substr(0, space), text.substr(space + 1)};
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    }
    damaged("merge " + std::to_string(file_.merges.size()) + " is not a pair");
  }

  std::int64_t merged_piece(const std::string& piece) const {
    const auto found = id_of_piece_.find(piece);
    if (found == id_of_piece_.end()) {
      const std::string merge = "merge " + std::to_string(file_.merges.size());
      damaged(merge + " needs " + quoted(piece) + ", which the vocabulary lacks");
    }
    return found->second;
  }

  std::filesystem::path path_;
  TokenizerFile file_;
  std::unordered_map<std::int64_t, std::string> owner_;
  std::unordered_map<std::int64_t, TokenizerFile::Piece> claimed_;
  std::unordered_map<std::string, std::int64_t> id_of_text_;
  std::unordered_map<std::string, std::int64_t> id_of_piece_;
};

}  // namespace

TokenizerFile read_tokenizer_file(const std::filesystem::path& path) { return Reader(path).read(); }

}  // namespace drift
