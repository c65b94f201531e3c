#pragma once

#include <core/text/bpe.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drift {

/// A token that is recognised in the text before anything else.
struct AddedToken {
  std::int32_t id = -1;
  std::string text;
  bool special = false;      ///< dropped by decode(…, skip_special)
  bool single_word = false;  ///< only if no letter, digit or underscore is next to it
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
  bool normalized = false;   ///< looked for after normalisation instead of before
};

/// The checked contents of a tokenizer's files.
struct TokenizerFile {
  BpeModel model;
  std::vector<AddedToken> added;      ///< each text and each id once; their ids may lie in the model's vocabulary
  bool nfc = false;                   ///< texts are brought into normalisation form C
  std::vector<std::string> patterns;  ///< cut one after the other; as the file writes them
};

/// Collects what the files say, and checks that ids, texts and merges fit each other.
class TokenizerFileBuilder {
 public:
  /// @param name  what errors call the file
  explicit TokenizerFileBuilder(std::string name) : name_(std::move(name)) {}

  TokenizerFile& file() { return file_; }
  /// From here on, errors call the file this.
  void rename(std::string name) { name_ = std::move(name); }
  void add_piece(std::string_view piece, std::int32_t id);
  /// The pieces are all there. A merge that is named again takes the later rank.
  void add_merge(std::string_view left, std::string_view right);
  /// @param pair  "left right"
  void add_merge(std::string_view pair);
  [[noreturn]] void no_pair() const;
  /// An added token may repeat a piece of the vocabulary: same text, same id.
  void add_token(AddedToken token);
  /// The id of an added token or of a piece; -1 if there is no such text.
  std::int32_t find(std::string_view text) const;
  /// The lowest id above all others.
  std::int32_t next_id() const { return static_cast<std::int32_t>(owner_.size()); }

  /// @throws Error, always: "cannot use the tokenizer NAME: what"
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const;
  /// … with the advice to copy the file again.
  [[noreturn]] void damaged(const std::string& what) const;
  /// … is not supported.
  [[noreturn]] void unknown(const std::string& what) const;

 private:
  void claim(std::int32_t id, std::string_view text, std::int32_t owner);
  std::string_view text_of_owner(std::int32_t owner) const;
  std::int32_t merged_piece(std::string_view piece) const;

  std::string name_;
  TokenizerFile file_;
  std::vector<std::int32_t> owner_;  // by id: the piece's number; -2 - the added token's number; kFree
  Vocabulary added_;
  std::int32_t merges_ = 0;
  std::string joined_;
};

/// @param name  what errors call the text
/// @throws Error naming the key if it is missing, damaged, or of a kind that is not known
TokenizerFile parse_tokenizer_json(std::string_view json, const std::string& name);

/// vocab.json and merges.txt of a folder: byte-level BPE after normalisation form C and kVocabularyFilesPattern. Added
/// tokens come from the added_tokens_decoder of tokenizer_config.json, from added_tokens.json, and from
/// special_tokens_map.json (a token that has no id there gets the next free one); each file may be missing.
TokenizerFile read_vocabulary_files(const std::filesystem::path& folder);

/// The files of a checkpoint: tokenizer.json; if there is none, vocab.json and merges.txt, with the added tokens
/// that tokenizer_config.json names, or if it names none, added_tokens.json and special_tokens_map.json.
/// @param path  the folder, or a tokenizer.json
/// @throws Error naming the file and the key
TokenizerFile read_tokenizer_files(const std::filesystem::path& path);

}  // namespace drift
