#pragma once

#include <core/nn/transformer_model.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift::sdar {

/// Sdar's config.json, by the original's keys. Class defaults of the original are never assumed: what decides the
/// numbers must be in the file.
struct SdarConfig {
  nn::TransformerShape shape;
  std::int64_t block_size = 0;
  std::int64_t mask_id = -1;
  std::vector<std::int64_t> end_ids;
  std::int64_t pad_id = -1;

  /// @param ignored  keys that the user says have no part in the numbers
  /// @throws Error naming every key that is missing, of the wrong type, unknown, or set to something that would
  /// change the numbers and is not supported.
  static SdarConfig parse(const std::string& json, const std::vector<std::string>& ignored,
                          const std::string& generation_config, std::int64_t block, std::int64_t mask);
};

}  // namespace drift::sdar
