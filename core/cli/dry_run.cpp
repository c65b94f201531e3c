#include <core/base/quote.h>
#include <core/cli/run_place.h>
#include <core/cli/training_run.h>

#include <core/base/adapters.h>
#include <core/base/device.h>
#include <core/cli/memory_check.h>
#include <core/cli/rank_report.h>
#include <core/io/checkpoint.h>
#include <core/io/checkpoint_weights.h>
#include <core/io/json.h>
#include <core/io/run_folder.h>
#include <core/ranks/launch.h>
#include <core/report/format.h>
#include <core/report/text_table.h>
#include <core/text/shape_tokenizer.h>
#include <core/train/training_plan.h>
#include <core/train/training_task.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace drift {
namespace {

namespace fs = std::filesystem;

std::string range_text(std::int64_t low, std::int64_t high) {
  return low == high ? format_integer(low) : format_integer(low) + " to " + format_integer(high);
}

void add_work(const TrainingPlan& plan, TextTable& table) {
  const auto row = [&](const char* name, const std::string& text) { table.rows.push_back({name, text}); };
  const std::int64_t responses = plan.responses(), rollouts = plan.steps * responses;
  row("prompts", format_decimal(plan.prompt_lengths.mean, 0) + " tokens on average, " +
                     format_integer(plan.prompt_lengths.longest) + " at most    (the first " +
                     format_integer(plan.prompt_lengths.prompts) + " of the run)");
  row("a step", format_integer(plan.prompts_per_step) + " prompts x " + format_integer(plan.group_size) +
                    " responses of up to " + format_integer(plan.response_length) + " tokens");
  if (plan.rollout_is_known) {
    row("  rollout", range_text(plan.rollout.least_forwards, plan.rollout.most_forwards) + " forwards a response, " +
                         range_text(plan.rollout.least_forwards * responses, plan.rollout.most_forwards * responses) +
                         " in all");
  } else {
    row("  rollout", "unknown: the rollout plugin does not declare its cost");
  }
  const UpdateCost& update = plan.update;
  row("  update", format_integer(update.views) + " masked contexts with " + format_integer(update.scored_tokens) +
                      " scored tokens; " + format_integer(update.optimizer_steps) + " optimizer " +
                      (update.optimizer_steps == 1 ? "step" : "steps"));
  row("", "at most " + format_integer(update.forward_rows) + " sequences forward, " +
              format_integer(update.backward_rows) + " backward, in " + format_integer(update.passes) +
              (update.passes == 1 ? " pass" : " passes"));
  if (update.recomputes) row("", "activations exceed the budget: blocks are computed again in the backward pass");
  if (update.scores_first) row("", "coupled contexts exceed the budget: scored first, then computed in parts");
  row("the run", format_integer(plan.steps) + " steps: " + format_integer(rollouts) + " responses, " +
                     format_integer(rollouts * plan.response_length) + " response tokens at most, " +
                     format_integer(plan.steps * update.optimizer_steps) + " optimizer steps");
  row("evaluation",
      format_integer(plan.evaluations) + " times " + format_integer(plan.held_out_items) + " held-out items");
}

std::string memory_table(const MemoryOfPlace& place, std::optional<std::int64_t> available) {
  TextTable table{.is_number = {false, true}};
  for (const MemoryPart& part : place.always) table.rows.push_back({part.name, memory_text(part.bytes), part.note});
  for (const MemoryPart& part : place.phases)
    table.rows.push_back({part.name, memory_text(part.bytes), part.note + "; one phase at a time"});
  table.rows.push_back({"total", memory_text(place.bytes()),
                        available ? "available: " + memory_text(*available) : "available: unknown here"});
  return to_text(table, /*unicode=*/true, "  ");
}

struct Disk {
  std::int64_t needed = 0;
  std::int64_t free = 0;
};

Disk disk_of(const TrainingPlan& plan, const fs::path& run) {
  fs::path existing = fs::absolute(run);
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) existing = existing.parent_path();
  return {(plan.checkpoints + 1) * plan.checkpoint_bytes, static_cast<std::int64_t>(fs::space(existing).available)};
}

/// What keeps the run from starting or finishing, one line each.
std::vector<std::string> obstacles(const TrainingPlan& plan, const Disk& disk, const AvailableMemory& available,
                                   const fs::path& run, const TrainingOptions& options) {
  std::vector<std::string> found;
  if (!fits(plan.memory, available)) found.push_back(memory_shortage(plan.memory, available));
  if (disk.needed > disk.free) {
    found.push_back(memory_text(disk.needed) + " of disk needed for checkpoints, " + memory_text(disk.free) +
                    " free: fewer of them (train.keep_checkpoints), or another folder (--out)");
  }
  if (!options.resume && !options.overwrite && RunFolder::has_begun(run))
    found.push_back(run.string() + " already holds a run: use --resume, --overwrite or another --out");
  return found;
}

nlohmann::ordered_json json_of(const MemoryOfPlace& place, std::optional<std::int64_t> available) {
  nlohmann::ordered_json json;
  for (const MemoryPart& part : place.always) json[part.name] = part.bytes;
  for (const MemoryPart& part : place.phases) json[part.name] = part.bytes;
  json["together"] = place.bytes();
  json["available"] = available ? nlohmann::ordered_json(*available) : nullptr;
  return json;
}

nlohmann::ordered_json json_of(const std::vector<MemoryChange>& changes) {
  auto json = nlohmann::ordered_json::array();
  for (const MemoryChange& change : changes) {
    json.push_back(
        {{"set", change.settings}, {"memory", change.plan.device.bytes()}, {"host_memory", change.plan.host.bytes()}});
  }
  return json;
}

nlohmann::ordered_json json_of(const TrainingPlan& plan, const Disk& disk, const AvailableMemory& available,
                               const std::vector<std::string>& obstacles, const std::vector<MemoryChange>& changes,
                               const std::vector<std::string>& notes) {
  nlohmann::ordered_json json;
  json["parameters"] = plan.parameters;
  json["trained"] = plan.trained;
  json["steps"] = plan.steps;
  json["prompts_per_step"] = plan.prompts_per_step;
  json["group_size"] = plan.group_size;
  json["response_length"] = plan.response_length;
  json["prompt_tokens"] = {{"mean", plan.prompt_lengths.mean}, {"longest", plan.prompt_lengths.longest}};
  if (plan.rollout_is_known)
    json["rollout_forwards_per_response"] = {plan.rollout.least_forwards, plan.rollout.most_forwards};
  json["update"] = {{"views", plan.update.views},
                    {"scored_tokens", plan.update.scored_tokens},
                    {"optimizer_steps", plan.update.optimizer_steps},
                    {"forward_rows", plan.update.forward_rows},
                    {"backward_rows", plan.update.backward_rows},
                    {"passes", plan.update.passes},
                    {"recomputes", plan.update.recomputes},
                    {"scores_first", plan.update.scores_first}};
  json["evaluations"] = plan.evaluations;
  json["held_out_items"] = plan.held_out_items;
  json["memory"] = json_of(plan.memory.device, available.device);
  if (!plan.memory.host.always.empty()) json["host_memory"] = json_of(plan.memory.host, available.host);
  json["disk"] = {{"checkpoints", disk.needed}, {"free", disk.free}};
  json["does_not_fit"] = obstacles;
  json["fits_with"] = json_of(changes);
  json["notes"] = notes;
  return json;
}

/// Without a GPU here, the plan for one can still be made.
std::optional<at::Device> find_device(const RunConfig& config) {
  try {
    prepare_device(config);
    return run_device(config.section("run").get<std::string>("device"));
  } catch (const Error& error) {
    std::cerr << "warning: " << printable(error.what()) << "\n";
    return std::nullopt;
  }
}

/// A shape may have no tokenizer yet.
Tokenizer tokenizer_of(const fs::path& folder, const ModelTraits& traits, std::vector<std::string>& notes) {
  if (has_tokenizer(folder)) return Tokenizer::open(folder);
  notes.push_back("there is no tokenizer in " + folder.string() + " yet: lengths of prompts are counted in bytes");
  return Tokenizer::parse(shape_tokenizer_json(traits), folder.string());
}

/// `shard`, or what the run's own file says if ranks cannot divide it so.
Shard shard_that_runs(const RunConfig& config, Shard shard) {
  try {
    check_shard(config, shard);
    return shard;
  } catch (const Error&) {
    return shard_of(config);
  }
}

/// What run_dry() does on the first of the processes that a launcher has started.
int print_plan(const TrainingOptions& options, const RankOptions& rank_options, bool json,
               const MakeComponents& make_components, std::int64_t ranks_of_host) {
  const LoadedRun run = load_run(options.config, ConfigPurpose::kTrain);
  const RunConfig& config = run.config;
  check_trainable(config);
  check_value_model(config, 1);
  const auto device_name = config.section("run").get<std::string>("device");
  const auto device = find_device(config);
  const fs::path folder = config.section("model").get<std::string>("path");
  const auto shapes = open_model_shapes(run.plugins->registry, config);
  auto notes = config.warnings();
  if (config.section("model").get<std::string>("initialize") == "checkpoint") {
    if (CheckpointWeights::exist_in(folder)) {
      check_parameters(folder, has_adapter(config) ? base_parameters(*shapes) : shapes->parameters());
    } else {
      notes.push_back("there are no weights in " + folder.string() + " yet: their names and shapes were not checked");
    }
  }
  const Tokenizer tokenizer = tokenizer_of(folder, shapes->traits(), notes);
  const PromptEncoder prompts(config.section("prompt"), tokenizer, shapes->traits());
  TrainingTask training_task = open_training_task(run.plugins->registry, config, prompts);
  const PolicyComponents components = make_components(run, std::move(training_task.task));
  const auto evaluation = evaluation_rollout(run);
  TrainingPlan plan = plan_training(config, *shapes, prompts, components, evaluation ? &*evaluation : nullptr);

  const fs::path path = run_path(options, config);
  const auto available = available_memory_of(config, device, ranks_of_host);
  std::optional<RankReport> ranks;
  if (rank_options.count > 1) {
    ranks.emplace(rank_options, config, *shapes, plan, available.device);
    plan.memory = ranks->memory({rank_options.count, ranks->shard()});
    if (shard_that_runs(config, ranks->shard()) != ranks->shard())
      notes.push_back(std::string("shard = ") + name_of(ranks->shard()) +
                      " is a plan alone: a run of these settings refuses it");
    if (rank_options.shard.empty() && ranks->shard() != shard_of(config))
      notes.push_back(std::string("with distributed.shard = \"none\" the run does not fit; this is the plan of --set "
                                  "distributed.shard=") +
                      name_of(ranks->shard()));
  }
  const Disk disk = disk_of(plan, path);
  const auto in_the_way = obstacles(plan, disk, available, path, options);
  std::vector<MemoryChange> changes;
  if (!fits(plan.memory, available)) {
    const Sharding sharding{rank_options.count, ranks ? shard_that_runs(config, ranks->shard()) : Shard::kNone};
    changes = changes_that_fit(run, options.config, plan.memory_work, available, sharding);
  }
  if (json) {
    auto text = json_of(plan, disk, available, in_the_way, changes, notes);
    if (ranks) text["ranks"] = ranks->json();
    std::cout << json_text(text, 1) << "\n";
    return in_the_way.empty() ? 0 : 1;
  }
  TextTable work{
      .rows = {{"algorithm", config.section("algorithm").get<std::string>("name") + ", masking " +
                                 components.masking.name() + ", loss " + components.loss.name()},
               {"model", config.component("model") + ", " + format_parameters(plan.parameters) + " parameters, " +
                             config.section("model").get<std::string>("dtype") + ", " + folder.string()},
               {"task", components.task.name() + ", reward " + components.judge.labels().front()}}};
  if (plan.trained != plan.parameters)
    work.rows.push_back(
        {"adapter", format_parameters(plan.trained) + " parameters are trained, the others are frozen"});
  if (!training_task.note.empty()) work.rows.push_back({"", training_task.note});
  add_work(plan, work);
  const std::string kept = std::to_string(plan.checkpoints) + " kept and one being written";
  std::cout << to_text(work) << "\nmemory (" << device_name << (ranks ? ", each rank" : "") << ")\n"
            << memory_table(plan.memory.device, available.device);
  if (!plan.memory.host.always.empty())
    std::cout << "\nmemory (host)\n" << memory_table(plan.memory.host, available.host);
  std::cout << "\ndisk\n  checkpoints  " << memory_text(disk.needed) << "  " << kept
            << "; free: " << memory_text(disk.free) << "\n";
  if (ranks) std::cout << ranks->text();
  std::cout << "\n";
  for (const std::string& note : notes) std::cout << "note: " << printable(note) << "\n";
  for (const std::string& obstacle : in_the_way) std::cout << "does not fit: " << printable(obstacle) << "\n";
  for (const std::string& line : change_lines(changes)) std::cout << "  fits with " << printable(line) << "\n";
  if (in_the_way.empty()) std::cout << "Everything fits. Nothing was written.\n";
  return in_the_way.empty() ? 0 : 1;
}

}  // namespace

std::string option_of_ranks(const RankOptions& options) {
  const RankOptions none;
  if (options.shard != none.shard) return "--shard";
  if (options.link != none.link) return "--link";
  if (options.rate != none.rate) return "--rate";
  return options.forwards != none.forwards ? "--forwards" : "";
}

int run_dry(const TrainingOptions& options, RankOptions rank_options, bool json,
            const MakeComponents& make_components) {
  join_ranks([](const Error& error) { std::cerr << "error: " << printable(error.what()) << "\n"; });
  const std::int64_t ranks_of_host = run_ranks().on_host();
  if (rank_options.count == 1) rank_options.count = run_ranks().size();
  if (const auto option = option_of_ranks(rank_options); !option.empty() && rank_options.count == 1)
    throw UsageError(option + " plans a run that several ranks share: it goes with --ranks N");
  const int status =
      run_ranks().is_first() ? print_plan(options, rank_options, json, make_components, ranks_of_host) : 0;
  std::cout.flush();
  run_ranks().leave();
  return status;
}

}  // namespace drift
