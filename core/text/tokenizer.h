#pragma once

#include <core/text/tokenizer_file.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace drift {

/// Text <-> token ids, as a checkpoint's `tokenizer.json` defines it (byte-level BPE). Nothing is added to a text: it
/// says itself where it begins and ends. Immutable; safe to use from several threads at once.
class Tokenizer {
 public:
  /// Reads `folder`/tokenizer.json.
  /// @throws Error naming the file and what is wrong with it, also for kinds of tokenizer that are not known.
  static Tokenizer open(const std::filesystem::path& folder);

  /// Added tokens (`<|mask|>`, …) are recognised first, leftmost and longest; what lies between goes through BPE.
  /// @throws Error naming the first character that the vocabulary cannot spell.
  std::vector<std::int64_t> encode(std::string_view text) const;

  /// The bytes of all tokens, joined first; then what is not valid UTF-8 becomes U+FFFD. No clean-up of spaces.
  /// @param skip_special  leave out the tokens that the file marks as special.
  /// @throws Error if an id is outside the vocabulary.
  std::string decode(std::span<const std::int64_t> ids, bool skip_special) const;

  std::int64_t vocabulary_size() const { return static_cast<std::int64_t>(file_.pieces.size()); }

  /// The bytes of one token; of itself perhaps not valid UTF-8.
  /// @throws Error if the id is outside the vocabulary.
  const std::string& piece(std::int64_t id) const;

  /// The token that is exactly this text, if there is one.
  std::optional<std::int64_t> token_id(std::string_view text) const;

 private:
  struct PairHash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& pair) const {
      return std::hash<std::int64_t>()(pair.first * 0x9E3779B97F4A7C15 + pair.second);
    }
  };

  explicit Tokenizer(TokenizerFile file);
  const std::int64_t* added_token_at(std::string_view text) const;
  void encode_segment(std::string_view text, std::size_t begin, std::size_t end, std::vector<std::int64_t>& ids) const;
  void merge(std::vector<std::int64_t>& symbols) const;

  TokenizerFile file_;
  std::array<std::vector<std::int64_t>, 256> added_by_first_byte_;  // longest first
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, std::size_t, PairHash> rank_of_pair_;
  std::unordered_map<std::string, std::int64_t> id_of_text_;
};

}  // namespace drift
