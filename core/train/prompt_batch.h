#pragma once

#include <drift/task.h>
#include <drift/trajectories.h>

#include <core/text/tokenizer.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Encoded prompts, one group of `group_size` responses each, padded on the left to the longest.
/// @throws Error naming the item if a prompt and `response_length` do not fit into the context.
Prompts make_prompts(const std::vector<TaskItem>& items, const Tokenizer& tokenizer, std::int64_t group_size,
                     std::int64_t pad_id, std::int64_t response_length, std::int64_t context_length);

/// Ids -> [1, ids.size()] prompts of one response without padding.
Prompts single_prompt(const std::vector<std::int64_t>& ids);

/// The responses with these indices, with their prompts.
Trajectories select_responses(const Trajectories& trajectories, const at::Tensor& index);

/// The text of response b, special tokens dropped.
std::string response_text(const Trajectories& trajectories, std::int64_t b, const Tokenizer& tokenizer);

}  // namespace drift
