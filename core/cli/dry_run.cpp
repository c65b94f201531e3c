#include <core/cli/run_place.h>
#include <core/cli/training_run.h>

#include <core/base/adapters.h>
#include <core/base/device.h>
#include <core/cli/command.h>
#include <core/cli/machine_settings.h>
#include <core/cli/memory_check.h>
#include <core/cli/printing.h>
#include <core/io/checkpoint.h>
#include <core/io/checkpoint_weights.h>
#include <core/io/run_folder.h>
#include <core/ranks/launch.h>
#include <core/text/shape_tokenizer.h>
#include <core/train/rank_plan.h>
#include <core/train/training_task.h>
#include <core/update/value_model.h>

namespace drift {
namespace {

/// What a dry run finds out.
struct DryRun {
  TrainingPlan plan;
  Sharding ranks;
  ExchangedBytes exchanged;
  AvailableMemory available;
  std::int64_t disk_needed = 0, disk_free = 0;  ///< for checkpoints
  std::vector<std::string> obstacles;           ///< what keeps the run from starting or finishing, one line each
  std::vector<std::string> notes;
};

std::string range_text(std::int64_t low, std::int64_t high) {
  return low == high ? format_integer(low) : format_integer(low) + " to " + format_integer(high);
}

void add_work(const DryRun& dry, TextTable& table) {
  const TrainingPlan& plan = dry.plan;
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
  if (dry.ranks.count > 1) {
    const ExchangedBytes& bytes = dry.exchanged;
    row("ranks", format_integer(dry.ranks.count) + " with distributed.shard = \"" + name_of(dry.ranks.shard) +
                     "\"; in a step each receives " + memory_text(static_cast<std::int64_t>(bytes.gradients)) +
                     " of gradients and " +
                     memory_text(static_cast<std::int64_t>(bytes.weights + bytes.rollout_weights)) + " of weights");
  }
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

void look_at_disk(const fs::path& run, DryRun& dry) {
  dry.disk_needed = (dry.plan.checkpoints + 1) * dry.plan.checkpoint_bytes;
  dry.disk_free = free_space(run).second;
  if (dry.disk_needed > dry.disk_free) {
    dry.obstacles.push_back(memory_text(dry.disk_needed) + " of disk needed for checkpoints, " +
                            memory_text(dry.disk_free) +
                            " free: fewer of them (train.keep_checkpoints), or another folder (--out)");
  }
}

Json json_of(const MemoryOfPlace& place, std::optional<std::int64_t> available) {
  Json json;
  for (const MemoryPart& part : place.always) json[part.name] = part.bytes;
  for (const MemoryPart& part : place.phases) json[part.name] = part.bytes;
  json["together"] = place.bytes();
  json["available"] = available ? Json(*available) : nullptr;
  return json;
}

Json json_of(const DryRun& dry) {
  const TrainingPlan& plan = dry.plan;
  Json json;
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
  json["memory"] = json_of(plan.memory.device, dry.available.device);
  if (!plan.memory.host.always.empty()) json["host_memory"] = json_of(plan.memory.host, dry.available.host);
  json["disk"] = {{"checkpoints", dry.disk_needed}, {"free", dry.disk_free}};
  json["does_not_fit"] = dry.obstacles;
  json["notes"] = dry.notes;
  if (dry.ranks.count > 1) {
    json["ranks"] = {{"count", dry.ranks.count},
                     {"shard", name_of(dry.ranks.shard)},
                     {"received_bytes",
                      {{"gradients", dry.exchanged.gradients},
                       {"weights in the update", dry.exchanged.weights},
                       {"weights in the rollout", dry.exchanged.rollout_weights}}}};
  }
  return json;
}

/// Without a GPU here, the plan for one can still be made.
std::optional<at::Device> find_device(const RunConfig& config) {
  try {
    prepare_device(config);
    return run_device(config.get<RunSettings>().device_name());
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

/// What run_dry() does on the first of the processes that a launcher has started.
int print_plan(const Ranks& ranks, const TrainingOptions& options, bool json, const MakeComponents& make_components) {
  LoadedRun run = load_run(options.config, ConfigPurpose::kTrain);
  const RunConfig& config = run.config;
  DryRun dry;
  dry.ranks = run_sharding(ranks, config);
  check_trainable(config);
  if (dry.ranks.count > 1) check_shard(ranks, config, dry.ranks.shard);
  check_value_model(config, dry.ranks.count);
  const auto device = find_device(config);
  const fs::path folder = config.get<ModelSettings>().path;
  const ModelShapes model(run.host(), config, WhichAdapters::kAll);
  const Model& shapes = *model.model();
  dry.notes = config.warnings();
  const std::string budget = settle_memory_budget(ranks, run.host(), run.config, shapes, device);
  if (!budget.empty()) dry.notes.push_back(budget);
  if (!config.get<ModelSettings>().random_weights) {
    if (CheckpointWeights::exist_in(folder)) {
      check_parameters(folder, has_adapter(config) ? base_parameters(shapes) : shapes.parameters());
    } else {
      dry.notes.push_back("there are no weights in " + folder.string() +
                          " yet: their names and shapes were not checked");
    }
  }
  const Tokenizer tokenizer = tokenizer_of(folder, model.traits(), dry.notes);
  const PromptEncoder prompts(config.get<PromptSettings>(), tokenizer, model.traits());
  TrainingTask training_task = open_training_task(run.host(), config, prompts);
  const PolicyComponents components = make_components(run, std::move(training_task.task));
  const auto evaluation = evaluation_rollout(run);
  dry.plan = plan_training(config, shapes, prompts, components, evaluation ? &*evaluation : nullptr, dry.ranks);
  dry.exchanged = exchanged_bytes(exchange_work(config, shapes, dry.plan), dry.ranks);
  const TrainingPlan& plan = dry.plan;

  const fs::path path = run_path(options, config);
  dry.available = available_memory_of(ranks, config, device);
  if (const auto shortage = memory_shortage(plan.memory, dry.available); !shortage.empty()) {
    dry.obstacles.push_back(shortage);
    dry.notes.push_back(what_makes_it_smaller(dry.ranks));
  }
  look_at_disk(path, dry);
  if (!options.resume && !options.overwrite && RunFolder::has_begun(path))
    dry.obstacles.push_back(path.string() + " already holds a run: use --resume, --overwrite or another --out");
  const int status = dry.obstacles.empty() ? 0 : 1;
  if (json) {
    std::cout << json_text(json_of(dry), 1) << "\n";
    return status;
  }
  TextTable work{
      .rows = {{"algorithm", config.get<AlgorithmSettings>().name + ", masking " + components.masking.name() +
                                 ", loss " + components.loss.name()},
               {"model", config.component("model") + ", " + format_parameters(plan.parameters) + " parameters, " +
                             config.get<ModelSettings>().type_name() + ", " + folder.string()},
               {"task", components.task.name() + ", reward " + components.judge.labels().front()}}};
  if (plan.trained != plan.parameters)
    work.rows.push_back(
        {"adapter", format_parameters(plan.trained) + " parameters are trained, the others are frozen"});
  if (!training_task.note.empty()) work.rows.push_back({"", training_task.note});
  add_work(dry, work);
  std::cout << to_text(work) << "\nmemory (" << config.get<RunSettings>().device_name()
            << (dry.ranks.count > 1 ? ", each rank" : "") << ")\n"
            << memory_table(plan.memory.device, dry.available.device);
  if (!plan.memory.host.always.empty())
    std::cout << "\nmemory (host)\n" << memory_table(plan.memory.host, dry.available.host);
  std::cout << "\ndisk\n  checkpoints  " << memory_text(dry.disk_needed) << "  " << plan.checkpoints
            << " kept and one being written; free: " << memory_text(dry.disk_free) << "\n\n";
  for (const std::string& note : dry.notes) std::cout << "note: " << printable(note) << "\n";
  for (const std::string& obstacle : dry.obstacles) std::cout << "does not fit: " << printable(obstacle) << "\n";
  if (status == 0) std::cout << "Everything fits. Nothing was written.\n";
  return status;
}

}  // namespace

int run_dry(const TrainingOptions& options, bool json, const MakeComponents& make_components) {
  const auto ranks = join_ranks([](const Error& error) { std::cerr << "error: " << printable(error.what()) << "\n"; });
  return ended_together(*ranks,
                        [&] { return ranks->is_first() ? print_plan(*ranks, options, json, make_components) : 0; });
}

}  // namespace drift
