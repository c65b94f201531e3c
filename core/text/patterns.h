#pragma once

#include <string_view>

namespace drift {

/// The byte-level pre-tokeniser's pattern if its file says use_regex. Source: the released GPT-2 encoder.
inline constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The pattern of checkpoints with vocab.json and merges.txt, which these files do not state. Source: the Python
/// tokenizers that come with such checkpoints.
inline constexpr std::string_view kVocabularyFilesPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

}  // namespace drift
