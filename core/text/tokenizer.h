#pragma once

#include <core/text/added_tokens.h>
#include <core/text/bpe.h>
#include <core/text/split_pattern.h>
#include <core/text/tokenizer_file.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// What encode() makes of a special token in the text.
enum class SpecialTokens {
  kRecognised,  ///< the token, as the Hugging Face libraries do: whoever writes the text may write `<|endoftext|>`
  kAsText,      ///< text like any other: for text that may not control anything
};

/// Text <-> token ids (byte-level BPE), as a checkpoint's files define it: the ids and texts of the Hugging Face
/// `tokenizers` library, where that library adds nothing to a text. Immutable; safe to use from several threads at
/// once.
class Tokenizer {
 public:
  /// Reads a checkpoint's tokenizer.json; if there is none, its vocab.json and merges.txt (see
  /// read_vocabulary_files).
  /// @param path  the folder, or a tokenizer.json
  /// @throws Error naming the file and what is wrong with it, also for unknown kinds of tokenizers.
  static Tokenizer open(const std::filesystem::path& path);

  /// The same for the text of a tokenizer.json. @param name  what errors call it
  static Tokenizer parse(std::string_view json, const std::string& name);

  /// Bytes that are not valid UTF-8 are read as U+FFFD, one for each maximal invalid part. Added tokens (`<|mask|>`, …)
  /// are recognised first, leftmost and longest; the text between is normalised, cut by the patterns, and goes through
  /// BPE.
  /// @throws Error naming the first character that the vocabulary cannot spell, and has no unknown token for; or the
  ///         pattern that takes too many steps
  std::vector<std::int64_t> encode(std::string_view text, SpecialTokens special = SpecialTokens::kRecognised) const;

  /// The bytes of all tokens, joined first; then what is not valid UTF-8 becomes U+FFFD. No clean-up of spaces.
  /// @param skip_special  leave out the tokens that the file marks as special.
  /// @throws Error if there is no such token
  std::string decode(std::span<const std::int64_t> ids, bool skip_special) const;

  /// Whether the id has a token.
  bool has_token(std::int64_t id) const {
    return id >= 0 && id < vocabulary_size() && pieces_[static_cast<std::size_t>(id)].exists;
  }

  /// One more than the largest id. Not every id below need have a token.
  std::int64_t vocabulary_size() const { return static_cast<std::int64_t>(pieces_.size()); }

  /// The bytes of one token; of itself perhaps not valid UTF-8.
  /// @throws Error if there is no such token
  const std::string& piece(std::int64_t id) const { return entry(id).bytes; }

  /// @throws Error if there is no such token
  bool is_special(std::int64_t id) const { return entry(id).special; }

 private:
  struct Piece {
    std::string bytes;
    bool exists = false;
    bool special = false;
  };
  class Encoder;

  explicit Tokenizer(TokenizerFile file);
  const Piece& entry(std::int64_t id) const;

  Bpe bpe_;
  bool nfc_;
  AddedTokens plain_tokens_;       // searched for in the unchanged text
  AddedTokens normalized_tokens_;  // searched in the normalised rest
  std::vector<SplitPattern> patterns_;
  std::vector<Piece> pieces_;  // by id
};

/// Decodes ids that come bit by bit: never shows half a character. All that push() and flush() return, joined, is what
/// decode() makes of all ids.
class StreamDecoder {
 public:
  /// @param tokenizer  outlives the decoder
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special) : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  /// The text that is complete now: all but a character at the end of which bytes are still missing.
  /// @throws Error if there is no such token
  std::string push(std::int64_t id);

  /// The rest, at the end: U+FFFD for a character that never became complete. The decoder may then be used again.
  std::string flush();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string waiting_;  // the beginning of a character
};

}  // namespace drift
