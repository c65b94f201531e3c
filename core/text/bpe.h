#pragma once

#include <core/text/vocabulary.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace drift {

/// Which pair of neighbouring tokens becomes which token, and how early.
class MergeTable {
 public:
  struct Merge {
    std::int32_t rank = -1;  ///< lowest first; -1: the pair does not merge
    std::int32_t result = -1;
  };

  void reserve(std::size_t merges);
  /// A pair that is named again takes the new merge.
  void set(std::int32_t left, std::int32_t right, Merge merge);
  Merge find(std::int32_t left, std::int32_t right) const;
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t pair = kFree;
    Merge merge;
  };
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  std::size_t place_of(std::uint64_t pair) const;

  std::vector<Slot> table_;  // a power of two
  std::size_t size_ = 0;
};

/// How a tokenizer file divides a word into tokens.
struct BpeModel {
  Vocabulary vocabulary;  ///< pieces as the file writes them
  MergeTable merges;
  bool byte_level = true;      ///< pieces are written in the byte alphabet, and a word is spelt byte by byte
  bool byte_fallback = false;  ///< a character without a piece is encoded as <0x0A>, …, if the vocabulary has these
  bool ignore_merges = false;  ///< a word that is a piece is that piece, merges or not
  bool fuse_unknown = false;   ///< neighbouring unknown characters are one unknown token
  std::int32_t unknown = -1;   ///< the token of a character that cannot be spelt; -1: there is none
};

/// Words to token ids by byte-pair merges. Immutable; safe to use from several threads, each with its own Scratch.
/// Source: Sennrich et al., "Neural machine translation of rare words with subword units"; ties, duplicates and
/// fallbacks as the Hugging Face `tokenizers` library has them.
class Bpe {
 public:
  explicit Bpe(BpeModel model);

  /// Memory reused from word to word, with the recently encoded words. Belongs to one list of ids, which only grows,
  /// and to words whose text stays where it is.
  class Scratch {
   public:
    /// @param bytes  about how much text will be encoded
    explicit Scratch(std::size_t bytes);

   private:
    friend class Bpe;
    struct Symbol {
      std::int32_t id;
      std::int32_t previous;  // -1: none
      std::int32_t next;      // -1: none
    };
    struct Candidate {
      std::int32_t rank;
      std::int32_t position;
      std::int32_t result;
    };
    struct Spelt {
      std::uint64_t hash = 0;
      std::string_view word;
      std::size_t begin = 0;  // of its ids in the list
      std::size_t count = 0;
    };
    std::vector<Symbol> symbols_;
    std::vector<Candidate> heap_;
    std::vector<Spelt> spelt_;  // by hash, a newer word drives out an older one; a power of two
    std::string piece_;
  };

  static constexpr std::size_t kSpelt = static_cast<std::size_t>(-1);

  /// Appends the ids of `word` (valid UTF-8).
  /// @return kSpelt, or the offset of the first byte for which there is no token
  std::size_t encode(std::string_view word, Scratch& scratch, std::vector<std::int64_t>& ids) const;

  const BpeModel& model() const { return model_; }

 private:
  using Symbols = std::vector<Scratch::Symbol>;
  /// The tokens that one character starts as.
  struct Start {
    std::array<std::int32_t, 4> ids{};
    int count = 0;
    bool bytes = false;  // they are the pieces of its bytes
    bool unknown = false;
  };
  Start start_of(std::string_view character) const;
  std::size_t spell(std::string_view word, Scratch& scratch) const;
  void merge(Scratch& scratch) const;
  void propose(Scratch& scratch, std::int32_t position) const;

  BpeModel model_;
  std::array<Start, 256> start_of_byte_;
};

}  // namespace drift
