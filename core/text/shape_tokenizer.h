#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace drift {

struct ModelTraits;

/// Whether the folder has a tokenizer.json, or a vocab.json.
bool has_tokenizer(const std::filesystem::path& folder);

/// The text of a tokenizer.json for a model of which only the shape exists: a token for each byte, the special tokens
/// that the model declares, and below them those of its chat formats.
/// @throws Error if the vocabulary has no room for 256 bytes
std::string shape_tokenizer_json(const ModelTraits& traits);

/// The text of a tokenizer.json for models that have learned none. The special tokens have the given ids, the bytes the
/// lowest free ones. Every other id is the text of its number, which encoding never gives: what such a model writes can
/// be read, and holds digits.
/// @param vocabulary_size  the ids are below it
/// @throws Error if there is no room for 256 bytes
std::string byte_tokenizer_json(const std::map<std::int64_t, std::string>& special_tokens,
                                std::int64_t vocabulary_size);

}  // namespace drift
