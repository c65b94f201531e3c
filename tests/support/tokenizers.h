#pragma once

// Small tokenizers for the tests of core/text.

#include "tests/support/support.h"

#include <core/text/tokenizer.h>
#include <drift/error.h>

namespace drift::test {

/// A small tokenizer.json to vary: the letters a to d, two merges, and three added tokens of which one begins like
/// another.
inline nlohmann::json small_tokenizer() {
  return nlohmann::json::parse(R"({
    "added_tokens": [{"id": 6, "content": "<x>", "special": true}, {"id": 7, "content": "<x>y", "special": false},
                     {"id": 8, "content": "é!", "special": true}],
    "normalizer": null, "post_processor": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "Ġ": 3, "bc": 4, "abc": 5}, "merges": ["b c", "a bc"]}})");
}

inline Tokenizer open_tokenizer(const nlohmann::json& file) { return Tokenizer::parse(file.dump(), "tokenizer.json"); }

/// What opening this text as a tokenizer.json says is wrong.
inline std::string tokenizer_error(const std::string& file) {
  return what_of([&] { Tokenizer::parse(file, "tokenizer.json"); });
}

/// What is wrong when the value at a place of the small tokenizer.json is another.
inline std::string tokenizer_error_with(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json file = small_tokenizer();
  file[nlohmann::json::json_pointer(pointer)] = value;
  return tokenizer_error(file.dump());
}

}  // namespace drift::test
