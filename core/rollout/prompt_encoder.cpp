#include <core/rollout/prompt_encoder.h>

#include <core/config/nearest.h>

#include <drift/error.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

namespace drift {
namespace {

ChatFormat find_format(const std::string& name, const ModelTraits& traits) {
  std::vector<std::string> names = {"none"};
  for (const ChatFormat& format : traits.chat_formats) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  const std::string nearest = nearest_name(name, names);
  throw Error("unknown chat format `" + name + "` in [prompt] format" +
                  (nearest.empty() ? "" : "; did you mean `" + nearest + "`?"),
              "chat formats of " + traits.family + ": " + list);
}

}  // namespace

Prompts padded_prompts(const std::vector<std::vector<std::int64_t>>& encoded, std::int64_t group_size,
                       std::int64_t pad_id) {
  std::size_t longest = 0;
  for (const auto& ids : encoded) longest = std::max(longest, ids.size());
  const auto rows = static_cast<std::int64_t>(encoded.size()) * group_size, width = static_cast<std::int64_t>(longest);
  Prompts prompts;
  prompts.tokens_BP = at::full({rows, width}, pad_id, at::kLong);
  prompts.mask_BP = at::zeros({rows, width}, at::kBool);
  prompts.group_B = at::empty({rows}, at::kLong);
  for (std::int64_t b = 0; b < rows; ++b) {
    const auto& ids = encoded[static_cast<std::size_t>(b / group_size)];
    const std::int64_t padding = width - static_cast<std::int64_t>(ids.size());
    std::memcpy(prompts.tokens_BP.data_ptr<std::int64_t>() + b * width + padding, ids.data(),
                ids.size() * sizeof(std::int64_t));
    std::fill_n(prompts.mask_BP.data_ptr<bool>() + b * width + padding, ids.size(), true);
    prompts.group_B.data_ptr<std::int64_t>()[b] = b / group_size;
  }
  return prompts;
}

PromptEncoder::PromptEncoder(const PromptSettings& settings, const Tokenizer& tokenizer, const ModelTraits& traits)
    : tokenizer_(tokenizer),
      settings_(settings),
      mask_id_(traits.mask_id),
      pad_id_(traits.pad_id),
      context_length_(traits.context_length) {
  has_turns_ = settings.format != "none";
  if (has_turns_) format_ = find_format(settings.format, traits);
  const auto needs_turns = [&](bool is_set, const std::string& key) {
    if (!is_set || has_turns_) return;
    throw Error("[prompt] " + key + " needs a chat format", "choose one: [prompt] format = \"chat\"");
  };
  needs_turns(!settings_.system.empty(), "system");
  needs_turns(settings.trailing_newline, "trailing_newline");
  needs_turns(!settings.enable_thinking, "enable_thinking = false");
  if (!settings.enable_thinking && format_.no_thinking.empty())
    throw Error("[prompt] enable_thinking = false: the chat format `" + format_.name + "` of " + traits.family +
                    " has no words that ask for a reply without thinking",
                "leave enable_thinking out; a description's [[chat]] has them in `no_thinking`");
  if (settings.trailing_newline && !format_.reply_begin.ends_with('\n')) format_.reply_begin += '\n';
  if (fill_instruction(settings_.instruction, "1") == fill_instruction(settings_.instruction, "2")) {
    throw Error("[prompt] instruction has no {question}", "write {question} where the question belongs");
  }
  refuse_mask(settings_.response_prefix, "[prompt] response_prefix");
}

std::string PromptEncoder::render(const TaskItem& item) const {
  std::string text;
  for (const PromptPart& part : parts(item)) text += part.text;
  return text;
}

std::vector<std::int64_t> PromptEncoder::ids(const TaskItem& item) const {
  std::vector<std::int64_t> ids;
  for (const PromptPart& part : parts(item)) {
    const auto more = tokenizer_.encode(part.text, part.is_plain ? SpecialTokens::kAsText : SpecialTokens::kRecognised);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

std::vector<PromptPart> PromptEncoder::parts(const TaskItem& item) const {
  if (!item.response_prefix.empty()) refuse_mask(item.response_prefix, "item `" + item.id + "`: its response prefix");
  const std::string& prefix = item.response_prefix.empty() ? settings_.response_prefix : item.response_prefix;
  const std::string words = fill_instruction(settings_.instruction, item.prompt);
  std::vector<ChatTurn> turns = read_turns(item.earlier_turns, "item `" + item.id + "`");
  if (!has_turns_) {
    if (!turns.empty())
      throw Error("item `" + item.id + "` is a conversation of several turns, and [prompt] format is \"none\"",
                  "choose the model's turns: [prompt] format = \"chat\"");
    if (!settings_.special_tokens_as_text) return {{words + prefix}};
    return {{words, true}, {prefix}};
  }
  turns.push_back({"user", words});
  for (ChatTurn& turn : turns) turn.is_plain = settings_.special_tokens_as_text;
  if (!settings_.system.empty() && turns.front().role != "system")
    turns.insert(turns.begin(), {"system", settings_.system});
  return chat_parts(format_, turns, prefix, settings_.enable_thinking);
}

// A mask in front of the response is never filled in, and the model takes it for one that is.
void PromptEncoder::refuse_mask(const std::string& response_prefix, const std::string& whose) const {
  if (!tokenizer_.has_token(mask_id_) || response_prefix.find(tokenizer_.piece(mask_id_)) == response_prefix.npos)
    return;
  throw Error(whose + " has the mask token `" + tokenizer_.piece(mask_id_) + "`",
              "write the words that the response begins with: the masks behind them are there already");
}

Prompts PromptEncoder::encode(const std::vector<TaskItem>& items, std::int64_t group_size,
                              std::int64_t response_length) const {
  std::vector<std::vector<std::int64_t>> encoded;
  for (const TaskItem& item : items) {
    encoded.push_back(ids(item));
    if (static_cast<std::int64_t>(encoded.back().size()) + response_length > context_length_) {
      throw Error("the prompt of item `" + item.id + "` has " + std::to_string(encoded.back().size()) +
                      " tokens; with " + std::to_string(response_length) +
                      " of the response that exceeds the model's context of " + std::to_string(context_length_),
                  "shorten rollout.length or filter the task's items");
    }
  }
  return padded_prompts(encoded, group_size, pad_id_);
}

}  // namespace drift
