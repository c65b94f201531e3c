#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Dream's config.json, by the original's keys. Class defaults of the original are never assumed: what decides the
/// numbers must be in the file.
struct DreamConfig {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;
  double rope_theta = 0;
  double rms_norm_eps = 0;
  bool tie_word_embeddings = false;
  std::int64_t mask_token_id = -1;
  std::int64_t eos_token_id = -1;
  std::int64_t pad_token_id = -1;

  /// @param ignored  keys that the user says have no part in the numbers
  /// @throws drift::Error naming every key that is missing, of the wrong type, unknown, or set to something that would
  /// change the numbers and is not supported.
  static DreamConfig parse(const std::string& json, const std::vector<std::string>& ignored);
};
