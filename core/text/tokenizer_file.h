#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// What a `tokenizer.json` says, checked.
struct TokenizerFile {
  struct Piece {
    std::string bytes;
    bool added = false;    ///< split off before anything else
    bool special = false;  ///< dropped by decode(…, skip_special)
  };
  struct Merge {
    std::int64_t left = 0;
    std::int64_t right = 0;
    std::int64_t result = 0;
  };

  std::vector<Piece> pieces;              ///< by id, without gaps
  std::array<std::int64_t, 256> byte_id;  ///< id of the piece that is this one byte; -1 where the vocabulary has none
  std::vector<Merge> merges;              ///< by rank
};

/// @throws Error naming the file and the key if it is missing, damaged, or of a kind that is not known.
TokenizerFile read_tokenizer_file(const std::filesystem::path& path);

}  // namespace drift
