#pragma once

#include <drift/trajectories.h>

#include <core/text/tokenizer.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Ids -> [1, ids.size()] prompts of one response without padding.
Prompts single_prompt(const std::vector<std::int64_t>& ids);

/// The responses with these indices, with their prompts.
Trajectories select_responses(const Trajectories& trajectories, const at::Tensor& index);

/// The text of response b, special tokens dropped.
std::string response_text(const Trajectories& trajectories, std::int64_t b, const Tokenizer& tokenizer);

}  // namespace drift
