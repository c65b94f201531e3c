#pragma once

#include <filesystem>
#include <string>

namespace drift {

struct ModelTraits;

/// Whether the folder has a tokenizer.json, or a vocab.json.
bool has_tokenizer(const std::filesystem::path& folder);

/// The text of a tokenizer.json for a model of which only the shape exists: a token for each byte, the special tokens
/// that the model declares, and below them those of its chat formats.
/// @throws Error if the vocabulary has no room for 256 bytes
std::string shape_tokenizer_json(const ModelTraits& traits);

}  // namespace drift
