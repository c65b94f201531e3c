#include <core/boundary/checked.h>
#include <core/boundary/components.h>
#include <core/cli/generate_prompts.h>
#include <core/eval/answers.h>
#include <core/io/json.h>

#include <drift/error.h>

#include <algorithm>

namespace drift {
namespace {

using nlohmann::json;

class PromptReader {
 public:
  PromptReader(const LoadedRun& run, const RunPrompts& prompts, std::int64_t response_length, bool raw)
      : run_(run), prompts_(prompts.encoder), traits_(prompts.traits), response_length_(response_length), raw_(raw) {}

  std::vector<std::int64_t> of_text(const std::string& text) {
    if (raw_) return checked(prompts_.tokenizer().encode(text));
    auto ids = question_ids(text);
    const bool has_turns = run_.config.get<PromptSettings>().format != "none";
    if (!ids.empty() && !has_turns && !has_marks(ids)) add_task_marks(ids);
    return checked(std::move(ids));
  }

  /// The prompt of a task's item, in the words that training gives it.
  std::vector<std::int64_t> of_item(const std::string& id) {
    if (!run_.config.has("task"))
      throw Error("an item is chosen from a task, and none is named",
                  "name a run's file: --config configs/quickstart.toml");
    const TaskItem item = item_with_id(task(), run_.seed(), id).item;
    return checked(prompts_.ids(item));
  }

  std::vector<std::int64_t> checked(std::vector<std::int64_t> ids) const {
    if (ids.empty()) throw Error("the prompt is empty", "give --prompt TEXT, --item ID or --token-ids 1,2,3");
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= traits_.vocabulary_size) {
        throw Error("token id " + std::to_string(id) + " is outside the model's vocabulary of " +
                    std::to_string(traits_.vocabulary_size));
      }
      if (id == traits_.mask_id) {
        throw Error("the prompt has the mask token, id " + std::to_string(id) + ", which is never filled in there",
                    "leave it out; in a text, --set prompt.special_tokens=text makes it text");
      }
    }
    if (std::ssize(ids) + response_length_ > traits_.context_length) {
      throw Error("the prompt has " + std::to_string(ids.size()) + " tokens; with " + std::to_string(response_length_) +
                      " of the response that exceeds the model's context of " + std::to_string(traits_.context_length),
                  "shorten the prompt or rollout.length");
    }
    return ids;
  }

  AskedPrompt of_record(const json& record) {
    AskedPrompt asked;
    if (record.contains("id")) asked.id = record["id"];
    if (!asked.id.is_null() && !asked.id.is_string() && !asked.id.is_number_integer())
      throw Error("`id` is neither a text nor an integer");
    const bool text = record.contains("prompt"), ids = record.contains("token_ids"), item = record.contains("item");
    if (int{text} + int{ids} + int{item} != 1) throw Error("there must be one of `prompt`, `token_ids` and `item`");
    if (ids) {
      asked.token_ids = checked(ids_of(record["token_ids"]));
      return asked;
    }
    const char* key = text ? "prompt" : "item";
    if (!record[key].is_string()) throw Error(std::string("`") + key + "` is not a text");
    const auto value = record[key].get<std::string>();
    asked.token_ids = text ? of_text(value) : of_item(value);
    return asked;
  }

 private:
  std::vector<std::int64_t> question_ids(const std::string& text) const {
    TaskItem asked;
    asked.prompt = text;
    return prompts_.ids(asked);
  }

  const Loaded<Task>& task() {
    if (!task_) task_ = create_component<Task>(run_.host(), run_.config, "task");
    return task_;
  }

  bool is_mark(std::int64_t id) const {
    return prompts_.tokenizer().has_token(id) && prompts_.tokenizer().is_special(id);
  }
  bool has_marks(const std::vector<std::int64_t>& ids) const {
    return std::ranges::any_of(ids, [&](std::int64_t id) { return is_mark(id); });
  }

  /// The control tokens that a question of the task begins and ends with, where it writes them itself.
  void add_task_marks(std::vector<std::int64_t>& ids) {
    std::vector<std::int64_t> question;
    try {
      if (!run_.config.has("task") || checked_held_out_size(*task()) == 0) return;
      question = question_ids(held_out_items(task(), 0, 1).front().prompt);
    } catch (const Error&) {  // its data need not be where the checkpoint is
      return;
    }
    const auto is_word = [&](std::int64_t id) { return !is_mark(id); };
    const auto begin = std::ranges::find_if(question, is_word);
    const auto end = std::find_if(question.rbegin(), question.rend(), is_word).base();
    if (begin >= end) return;
    ids.insert(ids.begin(), question.begin(), begin);
    ids.insert(ids.end(), end, question.end());
  }

  static std::vector<std::int64_t> ids_of(const json& list) {
    std::vector<std::int64_t> ids;
    for (const json& id : list.is_array() ? list : json::array({nullptr})) {
      if (!id.is_number_integer()) throw Error("`token_ids` is not a list of integers");
      ids.push_back(id.get<std::int64_t>());
    }
    return ids;
  }

  const LoadedRun& run_;
  const PromptEncoder& prompts_;
  const ModelTraits& traits_;
  const std::int64_t response_length_;
  const bool raw_;
  Loaded<Task> task_;
};

}  // namespace

std::vector<AskedPrompt> read_prompts(const PromptSource& source, const LoadedRun& run, const RunPrompts& prompts,
                                      std::int64_t response_length) {
  PromptReader reader(run, prompts, response_length, source.raw);
  if (source.prompt) return {{nullptr, reader.of_text(*source.prompt)}};
  if (!source.item.empty()) return {{nullptr, reader.of_item(source.item)}};
  if (source.in.empty()) return {{nullptr, reader.checked(source.token_ids)}};
  const std::filesystem::path file = source.in == "-" ? "/dev/stdin" : source.in;
  std::vector<AskedPrompt> asked;
  for_each_json_line(file, R"(every line is one JSON object: {"prompt": …}, {"token_ids": […]} or {"item": …})",
                     [&](const json& record, std::string_view) { asked.push_back(reader.of_record(record)); });
  if (asked.empty()) throw Error(file.string() + " holds no record");
  return asked;
}

}  // namespace drift
