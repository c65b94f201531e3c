#pragma once

#include <drift/model.h>
#include <drift/task.h>
#include <drift/trajectories.h>

#include <core/config/run_settings.h>
#include <core/text/chat.h>
#include <core/text/tokenizer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// One group of `group_size` responses for each prompt, padded on the left to the longest.
Prompts padded_prompts(const std::vector<std::vector<std::int64_t>>& ids, std::int64_t group_size, std::int64_t pad_id);

/// Turns questions into prompts: the words around a question and the model's turns, as `[prompt]` says, then token ids.
class PromptEncoder {
 public:
  /// @throws Error if the model has no such chat format, or the instruction no place for the question; if the response
  /// would begin with a mask.
  PromptEncoder(const PromptSettings& settings, const Tokenizer& tokenizer, const ModelTraits& traits);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Null: the prompts have no turns.
  const ChatFormat* format() const { return has_turns_ ? &format_ : nullptr; }

  /// The complete text that the model reads: the item's turns and question, then the first words of the response, which
  /// are the item's own or, if it has none, those of `[prompt] response_prefix`.
  /// @throws Error naming the item if it has turns and the prompt none, or begins the response with a mask.
  std::string render(const TaskItem& item) const;

  /// Its token ids.
  std::vector<std::int64_t> ids(const TaskItem& item) const;

  /// Encoded prompts, one group of `group_size` responses each, padded on the left to the longest.
  /// @throws Error naming the item if a prompt and `response_length` do not fit into the context.
  Prompts encode(const std::vector<TaskItem>& items, std::int64_t group_size, std::int64_t response_length) const;

 private:
  std::vector<PromptPart> parts(const TaskItem& item) const;
  void refuse_mask(const std::string& response_prefix, const std::string& whose) const;

  const Tokenizer& tokenizer_;
  ChatFormat format_;
  bool has_turns_ = false;
  PromptSettings settings_;
  std::int64_t mask_id_, pad_id_, context_length_;
};

}  // namespace drift
