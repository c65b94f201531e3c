#pragma once

#include <core/cli/data_source.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// What `drift generate` is asked to answer: one of these.
struct PromptSource {
  std::optional<std::string> prompt;
  std::vector<std::int64_t> token_ids;
  std::string item;
  std::filesystem::path in;  ///< "-": standard input
  bool raw = false;          ///< texts are what the model reads, without the words and marks of the run
};

struct AskedPrompt {
  nlohmann::json id;  ///< a text or number of its record; null: none
  std::vector<std::int64_t> token_ids;
};

/// @param response_length  that must fit into the context behind each prompt
/// @throws Error naming the record that is not as it should be, by its line
std::vector<AskedPrompt> read_prompts(const PromptSource& source, const LoadedRun& run, const RunPrompts& prompts,
                                      std::int64_t response_length);

}  // namespace drift
