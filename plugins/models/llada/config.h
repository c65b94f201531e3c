#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// LLaDA's config.json, by the original's keys. Class defaults of the original are never assumed: what decides the
/// numbers must be in the file.
struct LladaConfig {
  std::int64_t d_model = 0;
  std::int64_t n_layers = 0;
  std::int64_t n_heads = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t mlp_hidden_size = 0;
  std::int64_t vocabulary_rows = 0;  ///< embedding_size: rows of the embedding, the head and the logits
  std::int64_t max_sequence_length = 0;
  double rope_theta = 0;
  double rms_norm_eps = 0;
  bool weight_tying = false;
  std::int64_t mask_token_id = -1;
  std::int64_t eos_token_id = -1;
  std::int64_t pad_token_id = -1;

  /// @param ignored  keys that the user says have no part in the numbers
  /// @throws drift::Error naming every key that is missing, of the wrong type, unknown, or set to something that would
  /// change the numbers and is not supported.
  static LladaConfig parse(const std::string& json, const std::vector<std::string>& ignored);
};
