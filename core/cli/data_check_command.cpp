#include <core/base/plain_threads.h>
#include <core/boundary/checked.h>
#include <core/cli/data_source.h>
#include <core/cli/printing.h>

namespace drift {
namespace {

struct DataOptions {
  ConfigOptions config;
  bool json = false, stats = false;
  std::int64_t show = 0;  ///< items of each set; 0: none
  std::string id;         ///< of the only item to show
};

constexpr std::int64_t kGenerated = 200;
constexpr std::size_t kMostLines = 20;

struct Finding {
  bool wrong = true;  ///< else worth knowing
  std::string what, hint;
};

/// Names of items with a word on each, in one finding.
class ItemList {
 public:
  void add(const TaskItem& item, const std::string& why) {
    if (++count_ <= kMostLines) lines_ += "\n  " + item.id + ": " + why;
  }
  /// @param what  "prompts that …"
  void report(const std::string& what, const std::string& hint, std::vector<Finding>& findings,
              bool wrong = true) const {
    if (count_ == 0) return;
    const std::string more = count_ > kMostLines ? "\n  … and " + std::to_string(count_ - kMostLines) + " more" : "";
    findings.push_back({wrong, what + ", " + std::to_string(count_) + ":" + lines_ + more, hint});
  }

 private:
  std::size_t count_ = 0;
  std::string lines_;
};

void check_prompts(const DataSource& source, const std::vector<TaskItem>& items, bool training,
                   std::vector<Finding>& findings) {
  if (source.prompts() == nullptr) return;
  const auto& config = source.config();
  const auto most = config.get<TaskSettings>().max_prompt_tokens;
  std::int64_t response = 0;
  if (config.has("rollout"))
    response = checked_response_length(*create_component<Rollout>(source.host(), config, "rollout"));
  if (config.has("pretrain")) response = std::max(response, config.get<PretrainSettings>().response_length);
  ItemList too_long;
  std::int64_t left_out = 0;
  for (const TaskItem& item : items) {
    const std::int64_t tokens = source.count_tokens(item);
    if (training && most > 0 && tokens > most) {
      ++left_out;
    } else if (tokens + response > source.traits().context_length) {
      too_long.add(item, std::to_string(tokens) + " tokens");
    }
  }
  const bool nothing_is_left = left_out == static_cast<std::int64_t>(items.size());
  if (left_out > 0)
    findings.push_back({nothing_is_left,
                        std::to_string(left_out) + " training prompts have more than " + std::to_string(most) +
                            " tokens; training leaves them out" + (nothing_is_left ? ", and no item is left" : ""),
                        nothing_is_left ? "raise task.max_prompt_tokens" : ""});
  too_long.report(std::string(training ? "training" : "held-out") + " prompts that, with " + std::to_string(response) +
                      " tokens of the response, are longer than the model's context of " +
                      std::to_string(source.traits().context_length),
                  training ? "leave them out with task.max_prompt_tokens" : "shorten rollout.length", findings);
}

// Questions that control the model, where [prompt] lets them. A task that makes its questions writes what its model was
// trained on; a file's come from anywhere.
void check_special_tokens(const DataSource& source, const std::vector<TaskItem>& items,
                          std::vector<Finding>& findings) {
  const bool recognised = !source.config().get<PromptSettings>().special_tokens_as_text;
  if (source.prompts() == nullptr || source.list() == nullptr || !recognised) return;
  const Tokenizer& tokenizer = source.prompts()->tokenizer();
  std::vector<std::int64_t> special;
  for (std::int64_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (tokenizer.has_token(id) && (tokenizer.is_special(id) || id == source.traits().mask_id)) special.push_back(id);
  }
  ItemList found;
  bool masks = false;
  for (const TaskItem& item : items) {
    const std::string text = item.prompt + item.earlier_turns;
    std::string tokens;
    for (const std::int64_t id : special) {
      const std::string& piece = tokenizer.piece(id);
      if (text.find(piece) == text.npos) continue;
      tokens += (tokens.empty() ? "" : ", ") + piece;
      masks = masks || id == source.traits().mask_id;
    }
    if (!tokens.empty()) found.add(item, tokens);
  }
  found.report("questions with special tokens, which control the model",
               "to read them as text: prompt.special_tokens = \"text\"", findings, /*wrong=*/masks);
}

// A reference that the reward cannot read would end a run at its item, or never be met by an answer. An empty response
// has no answer: a parse error is the reference's.
void check_references(const DataSource& source, const std::vector<TaskItem>& items, std::vector<Finding>& findings) {
  if (!source.config().has("reward")) return;
  Loaded<Reward> reward;
  try {
    reward = create_component<Reward>(source.host(), source.config(), "reward");
  } catch (const Error& error) {  // such as a sandbox that this machine does not allow: no fault of the data
    findings.push_back({false, std::string("references are not checked: ") + error.what(), error.hint()});
    return;
  }
  std::vector<std::string> problems(items.size());
  for_each_at_once(items.size(), [&](std::size_t i) {
    try {
      const RewardResult result = checked_verdict(*reward, {"", &items[i]});
      if (result.status == RewardStatus::kInfrastructure || result.status == RewardStatus::kParseError)
        problems[i] = result.reason;
    } catch (const std::exception& error) {
      problems[i] = error.what();
    }
  });
  ItemList unreadable;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!problems[i].empty()) unreadable.add(items[i], problems[i]);
  }
  unreadable.report("references that the reward `" + reward.name() + "` cannot judge", "", findings);
}

std::vector<Finding> findings_of(DataSource& source) {
  std::vector<Finding> findings;
  try {
    source.open_task();
  } catch (const Error& error) {
    return {{true, error.what(), error.hint()}};
  }
  const auto training = source.training_items(kGenerated), held_out = source.held_out_items();
  findings.push_back({false,
                      format_integer(static_cast<long long>(training.size())) +
                          (source.list() ? " training items, " : " generated training items checked, ") +
                          format_integer(static_cast<long long>(held_out.size())) + " held-out items",
                      ""});
  if (const auto shared = shared_questions(training, held_out); shared > 0)
    findings.push_back({false, std::to_string(shared) + " training questions are also held-out questions", ""});
  for (const auto* items : {&training, &held_out}) {
    check_prompts(source, *items, items == &training, findings);
    check_special_tokens(source, *items, findings);
    check_references(source, *items, findings);
  }
  if (source.prompts() == nullptr)
    findings.push_back({false, "prompts are not checked: " + source.missing_model(), ""});
  return findings;
}

int check(const DataOptions& options) {
  DataSource source(options.config);
  if (options.stats || options.show > 0 || !options.id.empty()) {
    source.open_task();
    if (options.stats) print_statistics(source, options.json);
    if (options.show > 0 || !options.id.empty()) print_items(source, options.show, options.id, options.json);
    return 0;
  }
  const auto findings = findings_of(source);
  bool wrong = false;
  Json list = Json::array();
  for (const Finding& finding : findings) {
    wrong = wrong || finding.wrong;
    if (options.json) {
      list.push_back({{"wrong", finding.wrong}, {"what", finding.what}, {"hint", finding.hint}});
    } else {
      std::cout << (finding.wrong ? "wrong  " : "note   ") << printable(without_long_lines(finding.what)) << "\n";
      if (!finding.hint.empty()) std::cout << "  = " << printable(finding.hint) << "\n";
    }
  }
  if (options.json) {
    std::cout << json_text(Json{{"ok", !wrong}, {"findings", list}}, 2) << "\n";
  } else {
    std::cout << (wrong ? "the data cannot be used as it is\n" : "nothing is wrong\n");
  }
  return wrong ? 1 : 0;
}

}  // namespace

Command data_check_command() {
  return make_command<DataOptions>(
      {"data check", "everything that is wrong with a task's items; how many, how long; how they look",
       "Finds bad records, training questions that are also held-out questions, prompts that do not fit into the\n"
       "model's context, and references that the reward cannot read. Exit status 1 if something is wrong.\n"
       "With --stats, --show or --id it checks nothing and prints statistics of the items, or items. It looks at\n"
       "every item of a list, or at the first that a generator makes with this seed. Tokens are counted if the\n"
       "file or --model names a model's folder.",
       "data check configs/quickstart.toml"},
      check, [](OptionList& list, DataOptions& options) {
        list.argument("CONFIG.toml", options.config.file);
        list.add_switch("stats", "how many items, how long, answers, duplicates", options.stats);
        list.add("show", "N", "prompt, reference and demonstration of the first N items of each set", options.show)
            .default_value.reset();
        list.add("id", "ID", "the same of the item with this id", options.id);
        list.add_switch("json", "print JSON instead of text", options.json);
        add_settings(list, options.config, {"task", "model", "seed"});
      });
}

}  // namespace drift
