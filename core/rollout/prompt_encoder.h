#pragma once

#include <drift/model.h>
#include <drift/params.h>
#include <drift/task.h>
#include <drift/trajectories.h>

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
  /// @param section  `[prompt]` of the configuration
  /// @throws Error if the model has no such chat format, or the instruction no place for the question.
  PromptEncoder(const Params& section, const Tokenizer& tokenizer, const ModelTraits& traits);

  const Tokenizer& tokenizer() const { return tokenizer_; }

  /// The complete text that the model reads: the question in its turns, then the first words of the response, which are
  /// the item's own or, if it has none, those of `[prompt] response_prefix`.
  std::string render(const std::string& question, const std::string& item_prefix = {}) const;

  /// Its token ids.
  std::vector<std::int64_t> ids(const std::string& question, const std::string& item_prefix = {}) const;

  /// Encoded prompts, one group of `group_size` responses each, padded on the left to the longest.
  /// @throws Error naming the item if a prompt and `response_length` do not fit into the context.
  Prompts encode(const std::vector<TaskItem>& items, std::int64_t group_size, std::int64_t response_length) const;

 private:
  std::vector<ChatTurn> turns(const std::string& words) const;
  std::string join(const std::string& question, const std::string& response_prefix) const;
  const std::string& response_prefix(const std::string& item_prefix) const;

  const Tokenizer& tokenizer_;
  ChatFormat format_;
  bool has_turns_ = false;
  std::string instruction_, system_, response_prefix_;
  bool special_tokens_as_text_;
  std::int64_t pad_id_, context_length_;
};

}  // namespace drift
