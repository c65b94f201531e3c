#pragma once

#include <core/text/tokenizer_file.h>

#include <filesystem>

namespace drift {

/// vocab.json and merges.txt of a folder: byte-level BPE after normalisation form C and kVocabularyFilesPattern. Added
/// tokens come from the added_tokens_decoder of tokenizer_config.json, from added_tokens.json, and from
/// special_tokens_map.json (a token that has no id there gets the next free one); each file may be missing.
TokenizerFile read_vocabulary_files(const std::filesystem::path& folder);

}  // namespace drift
