#include <core/base/quote.h>
#include <core/eval/evaluation.h>

#include <core/base/stop_signal.h>
#include <core/boundary/checked.h>
#include <core/eval/answers.h>
#include <core/io/checkpoint.h>
#include <core/io/checksum.h>
#include <core/report/progress.h>
#include <core/rollout/held_out_split.h>
#include <core/sweep/grid.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace drift {

/// What answers a cell, besides the model.
struct Evaluation::Parts {
  Parts(RunHost& host, const RunConfig& config, const Tokenizer& tokenizer, const ModelTraits& traits)
      : prompts(config.get<PromptSettings>(), tokenizer, traits),
        task(create_component<Task>(host, config, "task")),
        judge(host, config),
        rollout(create_component<Rollout>(host, config, "evaluation.rollout")) {}

  PromptEncoder prompts;
  Loaded<Task> task;
  Judge judge;
  Loaded<Rollout> rollout;
};

namespace {

std::string prompt_checksum(const TaskItem& item, const PromptEncoder& prompts) {
  return checksum(prompts.render(item));
}

ResponseRecord record_of(const AnsweredItem& answered, const EvaluationCell& cell, const PromptEncoder& prompts,
                         const std::vector<std::string>& labels) {
  ResponseRecord record;
  record.id = answered.item.id;
  record.task = cell.task;
  record.length = cell.length;
  record.schedule = cell.schedule;
  record.sample = answered.sample;
  record.question = answered.item.prompt;
  record.prefix = answered.item.response_prefix;
  record.prompt_checksum = prompt_checksum(answered.item, prompts);
  record.reference = answered.item.reference;
  record.response = answered.response;
  record.token_ids.assign(answered.token_ids.begin(), answered.token_ids.begin() + answered.written);
  record.forwards = answered.forwards;
  record.truncated = answered.truncated;
  record.seconds = answered.seconds;
  record.trajectory = answered.trajectory;
  set_judgement(record, answered.judgement, labels);
  return record;
}

/// Existing records must belong to the present items.
void check_records(const std::vector<ResponseRecord>& records, const std::vector<TaskItem>& items, std::int64_t samples,
                   const PromptEncoder& prompts, const std::filesystem::path& file) {
  const std::size_t count = std::min(records.size(), items.size() * static_cast<std::size_t>(samples));
  for (std::size_t number = 0; number < count; ++number) {
    const ResponseRecord& record = records[number];
    const TaskItem& item = items[number / static_cast<std::size_t>(samples)];
    std::string wrong;
    if (record.id != item.id) {
      wrong = "is of item `" + record.id + "`, but the task now has `" + item.id + "`";
    } else if (record.prompt_checksum != prompt_checksum(item, prompts)) {
      wrong = "answers a different prompt from the present one of item `" + item.id + "`";
    } else if (record.reference != item.reference) {
      wrong = "was judged with a different reference from the present one of item `" + item.id + "`";
    } else {
      continue;
    }
    throw Error("response " + std::to_string(number + 1) + " of " + file.string() + " " + wrong,
                "restore the task's items, or choose another folder with --out");
  }
}

/// The weights are opened once: what says how must be the same everywhere.
void check_same_model(const PlannedCell& first, const PlannedCell& other) {
  for (const ResolvedSection& section : first.config.sections()) {
    for (const ResolvedValue& value : section.values) {
      const std::string key = section.name + "." + value.name;
      if (section.name != "model" && section.name != "adapter" && key != "run.device" && key != "run.threads") continue;
      const std::string there = to_toml(value.value), here = to_toml(other.config.find(key)->value);
      if (there == here) continue;
      throw Error("one model answers all cells, but " + key + " is " + there + " in " + first.cell.name() + " and " +
                      here + " in " + other.cell.name(),
                  "set it in the suite's own file or with --set");
    }
  }
}

}  // namespace

std::int64_t Evaluation::Work::unjudged() const {
  const auto& all = records();
  const auto count = std::min<std::ptrdiff_t>(wanted, std::ssize(all));
  return std::count_if(all.begin(), all.begin() + count, [](const ResponseRecord& r) { return !r.is_judged(); });
}

Evaluation::Evaluation(RunHost& host, std::vector<PlannedCell> cells, const std::filesystem::path& folder, Use use)
    : host_(host),
      folder_{folder},
      use_(use),
      checkpoint_(cells.front().config.get<ModelSettings>().path),
      checkpoint_checksum_(folder.empty() ? "" : checkpoint_checksum(checkpoint_)),
      tokenizer_(Tokenizer::open(checkpoint_)),
      shapes_(host, cells.front().config, WhichAdapters::kSaved) {
  std::vector<std::string> names;
  for (const PlannedCell& cell : cells) names.push_back(cell.cell.name());
  Identity identity;
  for_every_cell(names, [&](std::size_t cell) {
    Work work;
    work.plan = std::move(cells[cell]);
    check(work, identity);
    cells_.push_back(std::move(work));
    check_same_model(cells_.front().plan, cells_.back().plan);
  });
}

void Evaluation::check(Work& work, Identity& identity) {
  const RunConfig& config = work.plan.config;
  const Parts parts(host_, config, tokenizer_, shapes_.traits());
  const std::int64_t available = checked_held_out_size(*parts.task);
  if (available == 0) throw Error("the task `" + parts.task.name() + "` has no held-out items");
  const auto evaluation = config.get<EvaluationSettings>();
  const std::int64_t samples = evaluation.samples;
  const HeldOutSplit split = HeldOutSplit::of(evaluation, available);
  const auto asked = held_out_items(parts.task, split.validation, split.items);
  work.wanted = static_cast<std::int64_t>(asked.size()) * samples;
  work.plan.cell.length = checked_response_length(*parts.rollout);
  parts.prompts.encode(asked, 1, work.plan.cell.length);  // what does not fit into the context is said now
  if (folder_.path.empty()) return;
  const auto settings = identity.settings(config, IdentityOf::kResponses);
  work.settings = {checkpoint_.string(), checkpoint_checksum_, work.wanted, {settings.begin(), settings.end()}};
  check_settings(work);
  if (use_ == Use::kAnswer)
    work.lock.emplace(folder_.path / "cells", "another evaluation of this cell", "." + work.plan.cell.name() + ".lock");
  const auto file = folder_.responses(work.plan.cell.name());
  work.file.emplace(file);
  check_records(work.file->records(), asked, samples, parts.prompts, file);
}

void Evaluation::check_settings(const Work& work) const {
  const std::string name = work.plan.cell.name();
  const auto file = folder_.settings(name);
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) {
    if (!std::filesystem::exists(folder_.responses(name), failed)) return;
    throw Error(folder_.responses(name).string() + " is there, but not " + file.string() +
                    ", which says how its responses were made",
                "choose another folder with --out");
  }
  CellSettings there = read_settings(file);
  const CellSettings& here = work.settings;
  // What an earlier version took for a setting that counts is no difference.
  std::erase_if(there.values, [&](const auto& setting) {
    return !here.values.contains(setting.first) && work.plan.config.find(setting.first) != nullptr;
  });
  std::vector<std::string> lines;
  for (const Difference& difference : differences(there.values, here.values)) lines.push_back(difference.text());
  if (there.checkpoint_checksum != here.checkpoint_checksum)
    lines.insert(lines.begin(), "another checkpoint: " + there.checkpoint + " there, " + here.checkpoint + " here");
  if (lines.empty()) return;
  // Without the cell's name, so that equal differences of many cells are reported once.
  throw Error(folder_.path.string() + " has responses made with other settings:" + listed(lines),
              "continue with the same settings, or choose another folder with --out");
}

std::int64_t Evaluation::missing() const {
  std::int64_t count = 0;
  for (const Work& work : cells_) count += std::max<std::int64_t>(0, work.wanted - work.answered()) + work.unjudged();
  return count;
}

std::vector<std::string> Evaluation::unfinished() const {
  std::vector<std::string> names;
  for (const Work& work : cells_) {
    if (!work.finished()) names.push_back(work.plan.cell.name());
  }
  return names;
}

void Evaluation::begin(Work& work) const {
  if (!work.file) return;
  const std::string name = work.plan.cell.name();
  for (const auto& file : {folder_.responses(name), folder_.settings(name)})
    std::filesystem::create_directories(file.parent_path());
  write_settings(folder_.settings(name), work.settings);
}

void Evaluation::judge_again(Work& work, const Parts& parts) const {
  if (!work.file || work.unjudged() == 0) return;
  std::vector<ResponseRecord> records = work.file->records();
  std::vector<std::size_t> numbers;
  std::vector<TaskItem> items(records.size());
  std::vector<RewardRequest> requests;
  for (std::size_t number = 0; number < records.size(); ++number) {
    const ResponseRecord& record = records[number];
    if (record.is_judged()) continue;
    items[number] = {record.id, record.question, record.reference, {}, record.prefix};
    numbers.push_back(number);
    requests.push_back({record.response, &items[number], record.truncated});
  }
  const auto judgements = parts.judge.judge(requests);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    set_judgement(records[numbers[i]], judgements[i], parts.judge.labels());
  work.lock->require_held();
  work.file->replace(std::move(records));
}

void Evaluation::answer(Work& work, const Model* model, const std::string& title, Terminal& terminal) const {
  const RunConfig& config = work.plan.config;
  const Parts parts(host_, config, tokenizer_, shapes_.traits());
  begin(work);
  judge_again(work, parts);
  Ranks alone;
  AnswerSettings settings;
  settings.ranks = &alone;
  settings.model = model;
  settings.prompts = &parts.prompts;
  settings.task = &parts.task;
  settings.rollout = &parts.rollout;
  const auto evaluation = config.get<EvaluationSettings>();
  settings.samples = evaluation.samples;
  settings.first_item = evaluation.validation_items;
  settings.seed = config.get<RunSettings>().seed;
  settings.keep_trajectories = work.file && evaluation.trajectories;
  Progress progress(terminal, title, work.wanted, "response", work.answered());
  while (work.answered() < work.wanted && StopSignal::received() == 0) {
    const std::int64_t first = work.answered();
    auto answers = write_answers(settings, first, std::min(evaluation.batch_size, work.wanted - first));
    judge_answers(alone, parts.judge, answers);
    std::vector<ResponseRecord> records;
    for (const AnsweredItem& answered : answers)
      records.push_back(record_of(answered, work.plan.cell, parts.prompts, parts.judge.labels()));
    if (work.file) {
      work.lock->require_held();
      work.file->append(records);
    } else {
      std::ranges::move(records, std::back_inserter(work.kept));
    }
    progress.update(work.answered());
  }
}

int Evaluation::run(Terminal& terminal) {
  const StopSignal stop("batch of responses");
  std::optional<Loaded<Model>> model;
  for (std::size_t number = 0; number < cells_.size() && StopSignal::received() == 0; ++number) {
    Work& work = cells_[number];
    if (work.finished()) continue;
    const std::string name = work.plan.cell.name();
    const bool writes = work.answered() < work.wanted;
    if (writes && !model) model.emplace(open_model(shapes_));
    const std::string place =
        cells_.size() == 1 ? ""
                           : std::string("[") + std::to_string(number + 1) + "/" + std::to_string(cells_.size()) + "] ";
    try {
      answer(work, writes ? &**model : nullptr, place + name, terminal);
    } catch (const Error& error) {
      const std::string safe = folder_.path.empty() ? ""
                                                    : "the earlier responses are safe in " + folder_.path.string() +
                                                          "; the same command continues from there";
      throw Error(name + ": " + error.what(),
                  error.hint() + (error.hint().empty() || safe.empty() ? "" : "\n  = ") + safe);
    }
    if (cells_.size() > 1 && work.answered() >= work.wanted) {
      const CellSummary summary = summarise(work.plan.cell, work.records(), work.wanted);
      terminal.print(printable(place + name) + "  " + result_line(summary, terminal.unicode()));
    }
  }
  return StopSignal::received();
}

std::vector<CellSummary> Evaluation::summaries() const {
  std::vector<CellSummary> all;
  for (const Work& work : cells_) all.push_back(summarise(work.plan.cell, work.records(), work.wanted));
  return all;
}

}  // namespace drift
