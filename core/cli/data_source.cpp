#include <core/cli/data_source.h>

#include <core/base/log.h>
#include <core/boundary/checked.h>
#include <core/eval/answers.h>
#include <core/text/chat_template.h>

#include <drift/error.h>

#include <algorithm>

namespace drift {

RunPrompts::RunPrompts(const LoadedRun& run, const ModelTraits& model_traits, std::shared_ptr<const Tokenizer> opened)
    : owned(opened ? std::move(opened) : std::make_shared<Tokenizer>(Tokenizer::open(run.model_folder()))),
      tokenizer(*owned),
      traits(model_traits),
      encoder(run.config.get<PromptSettings>(), tokenizer, traits) {
  const ChatFormat* format = encoder.format();
  const std::string difference = format == nullptr ? std::string() : foreign_template(run.model_folder(), *format);
  if (!difference.empty())
    log_warning("the chat template of " + run.model_folder().string() + " is not a known one: " + difference +
                "; prompts have the format `" + format->name + "` of " + traits.family +
                "    (drift model info shows it; a description can hold another)");
}

std::vector<TaskItem> training_items(const Loaded<Task>& task, std::uint64_t seed, std::int64_t generated) {
  const auto listed = checked_training_size(*task);
  const RandomStream random = RandomStream(seed, "train").child("task");
  std::vector<TaskItem> items(static_cast<std::size_t>(listed.value_or(generated)));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    items[i] = listed ? checked_listed_item(*task, index) : checked_training_item(*task, index, random);
  }
  return items;
}

ListedItem item_with_id(const Loaded<Task>& task, std::uint64_t seed, const std::string& id) {
  std::string set = "held-out";
  auto items = held_out_items(task, 0, checked_held_out_size(*task));
  auto found = std::ranges::find(items, id, &TaskItem::id);
  if (found == items.end()) {
    set = "training";
    items = training_items(task, seed, kFirstItems);
    found = std::ranges::find(items, id, &TaskItem::id);
  }
  if (found != items.end()) return {set, *found};
  throw Error("the task has no item `" + id + "`", "drift data check CONFIG.toml --show 5 prints ids");
}

DataSource::DataSource(const ConfigOptions& options) : run_(load_run(options, ConfigPurpose::kData)) { open_prompts(); }

void DataSource::open_task() { task_ = create_component<Task>(host(), config(), "task"); }

void DataSource::open_prompts() {
  const std::filesystem::path folder = config().has("model") ? run_.model_folder() : std::filesystem::path();
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::exists(folder / "config.json", ignored)) {
    missing_model_ = folder.empty() ? "no model is named: --model FOLDER" : "no model at " + folder.string();
    return;
  }
  prompts_.emplace(run_, read_model_traits(run_.host(), config()));
}

std::vector<TaskItem> DataSource::training_items(std::int64_t generated) const {
  return drift::training_items(task_, run_.seed(), generated);
}

std::vector<TaskItem> DataSource::held_out_items() const {
  return drift::held_out_items(task_, 0, checked_held_out_size(*task_));
}

std::int64_t DataSource::count_tokens(const TaskItem& item) const {
  return static_cast<std::int64_t>(prompts_->encoder.ids(item).size());
}

}  // namespace drift
