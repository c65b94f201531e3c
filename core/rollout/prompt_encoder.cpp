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

PromptEncoder::PromptEncoder(const Params& section, const Tokenizer& tokenizer, const ModelTraits& traits)
    : tokenizer_(tokenizer),
      instruction_(section.get<std::string>("instruction")),
      system_(section.get<std::string>("system")),
      response_prefix_(section.get<std::string>("response_prefix")),
      special_tokens_as_text_(section.get<std::string>("special_tokens") == "text"),
      pad_id_(traits.pad_id),
      context_length_(traits.context_length) {
  const auto name = section.get<std::string>("format");
  has_turns_ = name != "none";
  if (has_turns_) format_ = find_format(name, traits);
  const auto needs_turns = [&](bool is_set, const std::string& key) {
    if (!is_set || has_turns_) return;
    throw Error("[prompt] " + key + " needs a chat format", "choose one: [prompt] format = \"chat\"");
  };
  const bool trailing_newline = section.get<bool>("trailing_newline");
  needs_turns(!system_.empty(), "system");
  needs_turns(trailing_newline, "trailing_newline");
  if (trailing_newline && !format_.reply_begin.ends_with('\n')) format_.reply_begin += '\n';
  if (instruction_.find("{question}") == std::string::npos) {
    throw Error("[prompt] instruction has no {question}", "write {question} where the question belongs");
  }
}

std::string PromptEncoder::render(const std::string& question, const std::string& item_prefix) const {
  return join(question, response_prefix(item_prefix));
}

std::string PromptEncoder::join(const std::string& question, const std::string& response_prefix) const {
  const std::string words = fill_instruction(instruction_, question);
  return has_turns_ ? render_chat(format_, turns(words), response_prefix) : words + response_prefix;
}

const std::string& PromptEncoder::response_prefix(const std::string& item_prefix) const {
  return item_prefix.empty() ? response_prefix_ : item_prefix;
}

std::vector<ChatTurn> PromptEncoder::turns(const std::string& words) const {
  std::vector<ChatTurn> turns;
  if (!system_.empty()) turns.push_back({"system", system_});
  turns.push_back({"user", words});
  return turns;
}

std::vector<std::int64_t> PromptEncoder::ids(const std::string& question, const std::string& item_prefix) const {
  if (!special_tokens_as_text_) return tokenizer_.encode(render(question, item_prefix));
  // The user's words alone, between what the format puts before and after them.
  const std::string text = join(question, {});
  const std::size_t behind = has_turns_ ? format_.turn_end.size() + format_.reply_begin.size() : 0;
  const std::size_t before = has_turns_ ? render_chat(format_, turns({})).size() - behind : 0;
  const std::size_t words_end = text.size() - behind;
  auto ids = tokenizer_.encode(text.substr(0, before));
  const auto add = [&](const std::vector<std::int64_t>& more) { ids.insert(ids.end(), more.begin(), more.end()); };
  add(tokenizer_.encode(text.substr(before, words_end - before), SpecialTokens::kAsText));
  add(tokenizer_.encode(text.substr(words_end) + response_prefix(item_prefix)));
  return ids;
}

Prompts PromptEncoder::encode(const std::vector<TaskItem>& items, std::int64_t group_size,
                              std::int64_t response_length) const {
  std::vector<std::vector<std::int64_t>> encoded;
  for (const TaskItem& item : items) {
    encoded.push_back(ids(item.prompt, item.response_prefix));
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
