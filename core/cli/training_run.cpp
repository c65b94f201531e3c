#include <core/cli/training_run.h>

#include <core/base/child_process.h>
#include <core/base/log.h>
#include <core/base/phase_timer.h>
#include <core/base/thread_limits.h>
#include <core/base/threads.h>
#include <core/boundary/checked.h>
#include <core/boundary/method_name.h>
#include <core/cli/data_source.h>
#include <core/cli/machine_settings.h>
#include <core/cli/memory_check.h>
#include <core/cli/printing.h>
#include <core/cli/run_files.h>
#include <core/cli/run_place.h>
#include <core/config/config_json.h>
#include <core/eval/held_out.h>
#include <core/io/checkpoint.h>
#include <core/ranks/launch.h>
#include <core/record/alarms.h>
#include <core/record/metrics_reader.h>
#include <core/record/tensorboard_events.h>
#include <core/report/profile.h>
#include <core/report/run_display.h>
#include <core/sweep/identity.h>
#include <core/train/memory_plan.h>
#include <core/train/training_task.h>
#include <core/update/value_model.h>

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace drift {
namespace {

std::string resume_command(ConfigPurpose purpose, const fs::path& folder) {
  return shell_command({"drift", purpose == ConfigPurpose::kTrain ? "train" : "pretrain",
                        (folder / "config.toml").string(), "--out", folder.string(), "--resume"});
}

LoopSettings loop_settings(const LoadedRun& run, ConfigPurpose purpose, Identity& identity) {
  const RunConfig& config = run.config;
  const auto evaluation = config.get<EvaluationSettings>();
  LoopSettings settings;
  const auto take = [&](const auto& section) {
    settings.steps = section.steps;
    settings.checkpoint_every = section.checkpoint_every;
    settings.keep_checkpoints = section.keep_checkpoints;
    settings.keep_best = section.keep_best;
  };
  purpose == ConfigPurpose::kTrain ? take(config.get<TrainSettings>()) : take(config.get<PretrainSettings>());
  settings.evaluate_every = evaluation.every;
  settings.evaluate_before = evaluation.before;
  settings.seed = run.seed();
  for (auto& [key, value] : identity.settings(config, IdentityOf::kTraining)) settings.settings[key] = value;
  settings.model_folder = run.model_folder();
  settings.model_config_json = read_config_json(settings.model_folder);
  return settings;
}

/// For a run that failed with a checkpoint on disk.
std::string how_to_continue(const std::string& resume_command, const fs::path& checkpoint) {
  const std::string back = earlier_checkpoint_command(checkpoint);
  return "\n    to continue from there: " + resume_command + (back.empty() ? "" : "\n    to go back one more: " + back);
}

RunHeader header(const Ranks& ranks, const LoadedRun& run, const Model& model, ConfigPurpose purpose,
                 const fs::path& folder, const std::optional<ResumePoint>& resumed) {
  const RunConfig& config = run.config;
  RunHeader header;
  header.version = DRIFT_VERSION;
  header.algorithm = purpose == ConfigPurpose::kTrain ? method_name(run.registry(), config) : "pretrain";
  header.model = config.component("model");
  header.parameters = parameter_count(model);
  header.data_type = config.get<ModelSettings>().type_name();
  header.task = config.component("task");
  header.device = config.get<RunSettings>().device_name();
  header.ranks = ranks.size();
  header.threads = at::get_num_threads();
  header.run_folder = folder.string();
  if (resumed) header.resumed_at = resumed->state.step;
  return header;
}

/// A launcher may let all ranks of a host run on all of its processors.
void share_processors(Ranks& ranks, const RunConfig& config) {
  if (ranks.size() == 1) return;
  const int sharing = ranks_on_these_processors(ranks);
  const ThreadLimits limits = thread_limits();
  if (config.get<RunSettings>().threads > 0 || limits.omp_num_threads) return;
  use_threads(std::max<std::int64_t>(1, static_cast<std::int64_t>(limits.threads()) / sharing));
}

/// While this rank computes: the run ends, and nothing else says why.
void report_lost_rank(const Error& error) {
  log_error(error.what());
  std::cerr << "error: " << printable(error.what()) << "\n  = " << printable(error.hint())
            << "\n    --resume continues the run from its last checkpoint\n";
}

/// What decides the numbers is the same on all ranks. Rounding depends on the processor and on the number of threads.
void require_same_start(Ranks& ranks, const LoadedRun& run, Identity& identity) {
  if (ranks.size() == 1) return;
  Facts facts{{"version of Drift", DRIFT_VERSION},
              {"instructions of the processor", at::get_cpu_capability()},
              {"threads", std::to_string(at::get_num_threads())}};
  for (const LoadedPlugin& plugin : run.plugins->loader.loaded())
    facts.emplace_back("plugin " + plugin.name, "SHA-256 " + plugin.sha256);
  for (const auto& setting : identity.settings(run.config, IdentityOf::kRun)) facts.push_back(setting);
  for (const char* variable : {"ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_DEFAULT_FPMATH_MODE", "ONEDNN_MAX_CPU_ISA"}) {
    if (const char* value = std::getenv(variable)) facts.emplace_back(variable, value);
  }
  require_same_facts(ranks, facts);
}

/// The first rank has checked the folder; the others read what it found there.
std::optional<ResumePoint> shared_resume_point(Ranks& ranks, const std::optional<RunFolder>& folder) {
  auto point = ranks.is_first() ? folder->resume_point() : std::nullopt;
  const fs::path checkpoint = ranks.broadcast(point ? point->folder.string() : "");
  if (!ranks.is_first() && !checkpoint.empty()) point = ResumePoint{checkpoint, read_training_state(checkpoint)};
  return point;
}

/// A rollout says that it cannot write with this model where its cost is asked for.
void require_rollouts(const LoadedRun& run, const Model& shapes) {
  for (const char* section : {"rollout", "evaluation.rollout"}) {
    if (!run.config.has(section)) continue;
    const auto rollout = create_component<Rollout>(run.host(), run.config, section);
    checked_cost(*rollout, shapes, /*prompt_length=*/1, /*responses=*/1, run.config.get<RunSettings>().on_cpu());
  }
}

/// What answers held-out items, or nothing where the configuration has no way to.
struct Evaluator {
  Loaded<Task> task;
  Judge judge;
  Loaded<Rollout> rollout;
  std::vector<AnsweredItem> answers;  ///< of the last evaluation
};

std::optional<Evaluator> make_evaluator(const LoadedRun& run) {
  if (!run.config.has("evaluation.rollout") || !run.config.has("reward")) return std::nullopt;
  RunHost& host = run.host();
  Evaluator evaluator{create_component<Task>(host, run.config, "task"),
                      Judge(host, run.config),
                      create_component<Rollout>(host, run.config, "evaluation.rollout"),
                      {}};
  if (checked_held_out_size(*evaluator.task) == 0) return std::nullopt;
  return evaluator;
}

TrainingLoop::Evaluate make_evaluate(Ranks& ranks, std::optional<Evaluator>& evaluator, const LoadedRun& run,
                                     const Model& model, const PromptEncoder& prompts, RunDisplay& display) {
  if (!evaluator) return {};
  const auto evaluation = run.config.get<EvaluationSettings>();
  HeldOutSettings held_out;
  held_out.answers.ranks = &ranks;
  held_out.answers.model = &model;
  held_out.answers.prompts = &prompts;
  held_out.answers.task = &evaluator->task;
  held_out.answers.rollout = &evaluator->rollout;
  held_out.answers.samples = evaluation.samples;
  held_out.answers.seed = run.seed();
  held_out.judge = &evaluator->judge;
  held_out.split = HeldOutSplit::of(evaluation, checked_held_out_size(*evaluator->task));
  held_out.batch_size = evaluation.batch_size;
  held_out.progress = [&](std::int64_t done, std::int64_t total) { display.activity("evaluation", done, total); };
  return [held_out, &answers = evaluator->answers] {
    const HeldOutResult result = evaluate_held_out(held_out, answers);
    log_info("held-out accuracy " + std::to_string(result.accuracy) + " on " + std::to_string(result.items) + " items");
    return result;
  };
}

TrackedRun tracked_run(const RunConfig& config, const fs::path& folder, const std::optional<ResumePoint>& resumed) {
  TrackedRun run;
  run.name = config.get<RunSettings>().name;
  run.toml = config.resolved_toml(folder);
  run.first_step = resumed ? resumed->state.step + 1 : 0;
  for (const ResolvedSection& section : config.sections()) {
    for (const ResolvedValue& value : section.values)
      run.settings.push_back({section.name, value.name, json_text(json_of(value.value))});
  }
  return run;
}

/// The first ones, for those who watch the run.
std::vector<SampleText> sample_texts(const std::vector<AnsweredItem>& answers, std::int64_t count) {
  std::vector<SampleText> samples;
  for (const AnsweredItem& answered : answers) {
    if (std::ssize(samples) < count)
      samples.push_back({answered.item.prompt, answered.response, answered.judgement.value, answered.judgement.solved});
  }
  return samples;
}

void warn_of(const std::vector<Alarm>& alarms) {
  for (const Alarm& alarm : alarms) log_warning("step " + std::to_string(alarm.step) + ": " + alarm.text());
}

RunClosing closing(const LoopResult& result, const RunFolder& folder, const std::string& resume_command) {
  RunClosing closing;
  closing.last_step = result.last_step;
  closing.interrupted = result.signal != 0;
  closing.before = result.before;
  closing.after = result.after;
  closing.seconds = result.seconds;
  closing.evaluation_seconds = result.evaluation_seconds;
  closing.start_seconds = result.start_seconds;
  closing.total_seconds = result.earlier_seconds + kProgramTimer.seconds();
  closing.peak_memory_mib = peak_memory_mib();
  closing.warnings.assign(result.warnings.begin(), result.warnings.end());
  closing.profile = profile_table(read_metrics(folder.path() / "metrics.jsonl"));
  closing.checkpoint = result.checkpoint.string();
  closing.report = (folder.path() / "report.html").string();
  if (closing.interrupted) closing.resume_command = resume_command;
  return closing;
}

}  // namespace

void add_training(OptionList& list, TrainingOptions& options, const std::vector<std::string>& short_forms) {
  list.argument("CONFIG.toml", options.config.file);
  add_settings(list, options.config, short_forms);
  list.add("out", "FOLDER", "the run's folder; default: runs/NAME, or the first of runs/NAME-2, … that is free",
           options.out);
  list.add_switch("resume", "continue from the run's last checkpoint; --set may change optimization and length",
                  options.resume);
  list.add_switch("overwrite", "replace the run that the folder holds", options.overwrite);
}

void check_shard(const Ranks& ranks, const RunConfig& config, Shard shard) {
  // A GPU's backward has a thread of its own, on which the ranks exchange what it makes.
  const bool on_cpu = config.get<RunSettings>().on_cpu();
  if (shard >= Shard::kGradients && !on_cpu && !ranks.on_any_thread()) {
    throw Error(std::string("distributed.shard = \"") + name_of(shard) +
                    "\" on GPUs needs an MPI that any thread may call, which this one is not",
                "set distributed.shard = \"optimizer\", or use another MPI (drift doctor says which one this is)");
  }
  if (shard < Shard::kParameters) return;
  const auto quantization = config.get<ModelSettings>().quantize;
  if (quantization != "none")
    throw Error("distributed.shard = \"parameters\" divides weights in their own type, and model.quantize is \"" +
                    quantization + "\"",
                "set distributed.shard = \"none\": weights in 4 bits take a quarter of the memory on each rank");
  if (config.has("reference") && config.get<ReferenceSettings>().offload)
    throw Error(
        "distributed.shard = \"parameters\" divides the reference policy's weights too: reference.offload "
        "would read them from the files instead",
        "set reference.offload = false");
}

namespace {

/// What run_training() does, after it has found the other ranks.
int run_on_ranks(Ranks& ranks, const TrainingOptions& options, ConfigPurpose purpose, const MakeTraining& make_training,
                 MakeComponents make_components) {
  const bool first = ranks.is_first();
  KeptWarnings warnings;
  if (!first) set_warning_listener([](const std::string&) {});  // the first rank shows them
  LoadedRun run = load_run(options.config, purpose);
  const RunConfig& config = run.config;
  const auto distributed = config.get<DistributedSettings>();
  ranks.watch({distributed.timeout, distributed.longest_wait});
  check_trainable(config);
  if (ranks.size() > 1) check_shard(ranks, config, shard_of(config));
  check_value_model(config, ranks.size());
  fs::path path = ranks.broadcast(first ? run_path(options, config).string() : "");
  const fs::path begun = options.resume ? path : fs::path();
  settle_products(ranks, run.config, begun);
  prepare_device(config);
  share_processors(ranks, config);
  Identity identity;
  auto settings = loop_settings(run, purpose, identity);
  require_same_start(ranks, run, identity);

  // A new run gets its folder only when everything that it is made of could be opened.
  const auto existing = options.overwrite ? RunFolder::Existing::kOverwrite : RunFolder::Existing::kRefuse;
  if (!options.resume && first && !options.out.empty()) RunFolder::check_free(path, existing);
  std::optional<RunFolder> folder;
  if (options.resume && first) folder.emplace(RunFolder::open(path));
  auto resumed = options.resume ? shared_resume_point(ranks, folder) : std::nullopt;
  if (resumed) check_continued(config, settings.settings, *resumed, options.config.file, path);
  // What is wrong with the tokenizer, the prompt, the data, the rollouts or the memory is said before the weights are
  // read.
  const ModelShapes shapes(run.host(), config, WhichAdapters::kAll);
  const RunPrompts run_prompts(run, shapes.traits());
  const PromptEncoder& prompts = run_prompts.encoder;
  auto training_task = open_training_task(run.host(), config, prompts);
  require_rollouts(run, *shapes.model());
  const std::string budget = settle_memory_budget(ranks, run, *shapes.model(), begun);
  if (make_components != nullptr) require_memory(ranks, run, *shapes.model(), prompts, make_components);
  settings.adapter = shapes.adapter();
  const auto model = resumed ? open_resumed_model(ranks, shapes, resumed->folder) : open_initial_model(ranks, shapes);
  auto evaluator = make_evaluator(run);
  const auto training = make_training(ranks, run, shapes, *model, prompts, std::move(training_task.task));
  if (!folder && first) folder.emplace(new_folder(options, config, existing));
  path = ranks.broadcast(first ? folder->path().string() : "");
  // Only the first rank has a folder, and says anything.
  std::optional<RunFiles> files;
  if (first) files.emplace(*folder, run, run_prompts.tokenizer, identity);
  const auto changes = first ? files->begin(resumed, purpose) : std::vector<std::string>();

  std::ostream nowhere(nullptr);
  Terminal terminal(first ? std::cout : nowhere, first ? detect_terminal(1) : TerminalOptions());
  RunDisplay display(terminal);
  display.header(header(ranks, run, *model, purpose, path, resumed));
  if (config.get<RunSettings>().is_deterministic())
    display.message("run.deterministic: the GPU adds in a fixed order, which takes more time");
  for (const std::string& note : config.warnings()) log_warning(note);
  if (options.resume && !resumed) log_warning("the run had no checkpoint yet: it starts again from its first step");
  for (const std::string& change : changes) display.message(change);
  for (const std::string& note : {training_task.note, budget}) {
    if (note.empty()) continue;
    log_info(note);
    display.message(note);
  }
  const std::vector<AnsweredItem> none;
  const std::vector<AnsweredItem>& answers = evaluator ? evaluator->answers : none;
  const LoopResult* so_far = nullptr;
  StepRecord last;
  settings.card = [&] { return files->card(typed_command(), *so_far, last); };
  AlarmWatch alarms(config.get<AlarmLimits>());
  if (resumed && first) {
    for (const StepRecord& step : read_metrics(folder->path() / "metrics.jsonl")) {
      if (step.step <= resumed->state.step) alarms.look(step);  // these have been said
    }
  }
  const auto tracking = config.get<ReportSettings>();
  std::optional<TensorBoardEvents> tensorboard;
  if (first && tracking.tensorboard) tensorboard.emplace(path / "tensorboard", tracked_run(config, path, resumed));
  TrainingLoop loop(ranks, warnings, settings, *training, *model, first ? &*folder : nullptr,
                    make_evaluate(ranks, evaluator, run, *model, prompts, display), [&](const StepRecord& step) {
                      display.step(step);
                      last = step;
                      if (first) warn_of(alarms.look(step));
                      if (files) files->follow(step, *so_far, answers);
                      if (tensorboard)
                        tensorboard->write(step, sample_texts(step.held_out ? answers : none, tracking.samples));
                    });
  so_far = &loop.result();
  if (resumed) {
    loop.resume(*resumed);
    resumed->state.tensors.clear();  // they keep the checkpoint's file open
  }
  display.begin({purpose == ConfigPurpose::kTrain ? RunKind::kTrain : RunKind::kPretrain,
                 (resumed ? resumed->state.step : 0) + 1, settings.steps, evaluator.has_value()});
  LoopResult result;
  const auto record_failure = [&](const std::exception& error) {
    log_error(error.what());
    files->try_to_write(RunOutcome::kFailed, *so_far, answers, error.what());
  };
  try {
    result = loop.run();
  } catch (const Error& error) {
    if (!first) throw;
    record_failure(error);
    if (so_far->checkpoint.empty() || !folder->is_held()) throw;
    throw Error(error.what(), error.hint() + how_to_continue(resume_command(purpose, path), so_far->checkpoint));
  } catch (const std::exception& error) {
    if (!first) throw;
    record_failure(error);
    throw;
  }
  if (!first) return result.signal == 0 ? 0 : 128 + result.signal;
  if (ranks.size() > 1) log_info("bytes sent by rank 0: " + std::to_string(ranks.sent()));
  files->write(result.signal == 0 ? RunOutcome::kFinished : RunOutcome::kInterrupted, result, answers);
  log_info((result.signal == 0 ? "finished at step " : "stopped at step ") + std::to_string(result.last_step));
  RunClosing end = closing(result, *folder, resume_command(purpose, path));
  if (settings.adapter && !end.checkpoint.empty())
    end.checkpoint += "    (the adapter; its model is " + settings.model_folder.string() + ")";
  display.close(end);
  return result.signal == 0 ? 0 : 128 + result.signal;
}

}  // namespace

int run_training(const TrainingOptions& options, ConfigPurpose purpose, const MakeTraining& make_training,
                 MakeComponents make_components) {
  if (options.resume && options.overwrite)
    throw UsageError("--resume continues a run, --overwrite starts it anew", "give one of them");
  const auto ranks = join_ranks(report_lost_rank);
  if (const std::string apart = processes_apart(); !apart.empty()) log_warning(apart);
  return ended_together(*ranks, [&] { return run_on_ranks(*ranks, options, purpose, make_training, make_components); });
}

}  // namespace drift
