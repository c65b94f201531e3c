#include <core/cli/training_run.h>

#include <core/base/log.h>
#include <core/boundary/last_word.h>
#include <core/components/method_name.h>
#include <core/eval/held_out.h>
#include <core/grid/identity.h>
#include <core/io/checkpoint.h>
#include <core/io/json.h>
#include <core/process/child_process.h>
#include <core/record/metrics_reader.h>
#include <core/report/html_report.h>
#include <core/report/profile.h>
#include <core/report/run_display.h>
#include <core/report/terminal.h>
#include <core/train/training_task.h>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>
#include <iostream>

namespace drift {
namespace {

constexpr std::int64_t kSamplesOfEach = 4;

using Json = nlohmann::ordered_json;

std::string plugins_json(const PluginLoader& loader) {
  auto list = Json::array();
  for (const LoadedPlugin& plugin : loader.loaded()) {
    list.push_back({{"name", plugin.name},
                    {"version", plugin.version},
                    {"licence", plugin.licence},
                    {"tier", plugin.tier},
                    {"path", plugin.path.string()},
                    {"sha256", plugin.sha256}});
  }
  return json_text(list, 1) + "\n";
}

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

std::string summary_json(const LoadedRun& run, const LoopResult& result) {
  const RunConfig& config = run.config;
  Json summary;
  summary["version"] = DRIFT_VERSION;
  if (config.has("algorithm")) {
    summary["algorithm"] = config.component("algorithm");
    const std::string method = method_name(run.plugins->registry, config);
    if (method != config.component("algorithm")) summary["method"] = method;
  }
  summary["model"] = config.component("model");
  summary["task"] = config.component("task");
  summary["seed"] = config.section("run").get<std::int64_t>("seed");
  summary["device"] = config.section("run").get<std::string>("device");
  summary["threads"] = at::get_num_threads();
  summary["steps"] = result.last_step;
  summary["interrupted"] = result.signal != 0;
  summary["seconds"] = result.seconds;
  summary["peak_memory_mib"] = peak_memory_mib();
  summary["checkpoint"] = result.checkpoint.filename().string();
  if (!result.warnings.empty()) summary["warnings"] = result.warnings;
  if (result.after) {
    Json held_out;
    if (result.before) {
      held_out["before"] = result.before->accuracy;
      held_out["before_standard_error"] = result.before->standard_error;
    }
    held_out["after"] = result.after->accuracy;
    held_out["standard_error"] = result.after->standard_error;
    held_out["items"] = result.after->items;
    summary["held_out"] = held_out;
  }
  return json_text(summary, 1) + "\n";
}

std::string resume_command(ConfigPurpose purpose, const std::filesystem::path& folder) {
  return shell_command({"drift", purpose == ConfigPurpose::kTrain ? "train" : "pretrain",
                        (folder / "config.toml").string(), "--out", folder.string(), "--resume"});
}

LoopSettings loop_settings(const RunConfig& config, ConfigPurpose purpose, const std::filesystem::path& model_folder,
                           Identity& identity) {
  const auto& section = config.section(purpose == ConfigPurpose::kTrain ? "train" : "pretrain");
  const auto& evaluation = config.section("evaluation");
  LoopSettings settings;
  settings.steps = section.get<std::int64_t>("steps");
  settings.checkpoint_every = section.get<std::int64_t>("checkpoint_every");
  settings.keep_checkpoints = section.get<std::int64_t>("keep_checkpoints");
  settings.evaluate_every = evaluation.get<std::int64_t>("every");
  settings.evaluate_before = evaluation.get<bool>("before");
  settings.seed = static_cast<std::uint64_t>(config.section("run").get<std::int64_t>("seed"));
  settings.config_hash = identity.key(config, IdentityOf::kTraining);
  settings.model_config_json = read_config_json(model_folder);
  settings.model_folder = model_folder;
  return settings;
}

/// In which settings the run differs from the one that its folder holds.
std::string what_differs(const LoadedRun& run, ConfigPurpose purpose, const std::filesystem::path& folder,
                         Identity& identity) {
  try {
    const RunConfig begun = resolve_config(load_document(folder / "config.toml", {}), run.plugins->registry, purpose);
    const auto there = identity.settings(begun, IdentityOf::kTraining);
    const auto here = identity.settings(run.config, IdentityOf::kTraining);
    const auto lines = differences({there.begin(), there.end()}, {here.begin(), here.end()});
    return lines.empty() ? "\n       a file that the configuration names is not what it was" : listed(lines);
  } catch (const Error&) {
    return {};  // the components have other parameters now
  }
}

RunHeader header(const LoadedRun& run, const Model& model, ConfigPurpose purpose, const RunFolder& folder,
                 const std::optional<ResumePoint>& resumed) {
  const RunConfig& config = run.config;
  RunHeader header;
  header.version = DRIFT_VERSION;
  header.algorithm = purpose == ConfigPurpose::kTrain ? method_name(run.plugins->registry, config) : "pretrain";
  header.model = config.component("model");
  header.parameters = parameter_count(model);
  header.data_type = config.section("model").get<std::string>("dtype");
  header.task = config.component("task");
  header.device = config.section("run").get<std::string>("device");
  header.threads = at::get_num_threads();
  header.run_folder = folder.path().string();
  if (resumed) header.resumed_at = resumed->state.step;
  return header;
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
  const auto& registry = run.plugins->registry;
  Evaluator evaluator{create_component<Task>(registry, run.config, "task"),
                      Judge(registry, run.config),
                      create_component<Rollout>(registry, run.config, "evaluation.rollout"),
                      {}};
  if (evaluator.task->held_out_size() == 0) return std::nullopt;
  return evaluator;
}

TrainingLoop::Evaluate make_evaluate(std::optional<Evaluator>& evaluator, const RunConfig& config, const Model& model,
                                     const PromptEncoder& prompts, RunDisplay& display) {
  if (!evaluator) return {};
  const Params& evaluation = config.section("evaluation");
  HeldOutSettings held_out;
  held_out.answers.model = &model;
  held_out.answers.prompts = &prompts;
  held_out.answers.task = &evaluator->task;
  held_out.answers.rollout = &evaluator->rollout;
  held_out.answers.samples = evaluation.get<std::int64_t>("samples");
  held_out.answers.seed = static_cast<std::uint64_t>(config.section("run").get<std::int64_t>("seed"));
  held_out.judge = &evaluator->judge;
  held_out.items = evaluation.get<std::int64_t>("items");
  held_out.batch_size = evaluation.get<std::int64_t>("batch_size");
  held_out.progress = [&](std::int64_t done, std::int64_t total) { display.activity("evaluation", done, total); };
  return [held_out, &answers = evaluator->answers] {
    const HeldOutResult result = evaluate_held_out(held_out, answers);
    log_info("held-out accuracy " + std::to_string(result.accuracy) + " on " + std::to_string(result.items) + " items");
    return result;
  };
}

void begin_files(const RunFolder& folder, const LoadedRun& run, const std::optional<ResumePoint>& resumed) {
  open_log(folder.path() / "log.txt");
  set_last_word_log(folder.path() / "log.txt");
  log_info(std::string("drift " DRIFT_VERSION ", ") + std::to_string(at::get_num_threads()) + " threads, " +
           (resumed ? "continuing from " + resumed->folder.string() : "a new run"));
  folder.write_file("config.toml", run.config.resolved_toml());
  folder.write_file("plugins.json", plugins_json(run.plugins->loader));
}

void end_files(const RunFolder& folder, const LoadedRun& run, const LoopResult& result,
               const std::optional<Evaluator>& evaluator, const Tokenizer& tokenizer) {
  folder.write_file("summary.json", summary_json(run, result));
  if (result.after)
    folder.write_file("samples.json", samples_json(evaluator->answers, result.last_step, tokenizer, kSamplesOfEach));
  write_report(folder.path());
  log_info((result.signal == 0 ? "finished at step " : "stopped at step ") + std::to_string(result.last_step));
}

RunClosing closing(const LoopResult& result, const RunFolder& folder, const std::string& resume_command) {
  RunClosing closing;
  closing.last_step = result.last_step;
  closing.interrupted = result.signal != 0;
  closing.before = result.before;
  closing.after = result.after;
  closing.seconds = result.seconds;
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
  list.add("out", "FOLDER", "the run's folder; default: runs/ and the run's name", options.out);
  list.add_switch("resume", "continue from the run's last checkpoint", options.resume);
}

std::filesystem::path run_path(const TrainingOptions& options, const RunConfig& config) {
  return options.out.empty() ? "runs" / std::filesystem::path(config.section("run").get<std::string>("name"))
                             : options.out;
}

int run_training(const TrainingOptions& options, ConfigPurpose purpose, const MakeTraining& make_training) {
  const LoadedRun run = load_run(options.config, purpose);
  const RunConfig& config = run.config;
  prepare_device(config);
  const auto path = run_path(options, config);
  const std::filesystem::path model_folder = config.section("model").get<std::string>("path");
  Identity identity;
  const auto settings = loop_settings(config, purpose, model_folder, identity);

  // A new run gets its folder only when everything that it is made of could be opened.
  std::optional<RunFolder> folder;
  if (options.resume) folder.emplace(RunFolder::open(path));
  const auto resumed = options.resume ? folder->resume_point(settings.config_hash,
                                                             [&] { return what_differs(run, purpose, path, identity); })
                                      : std::nullopt;
  // What is wrong with the tokenizer, the prompt or the data is said before the weights are read.
  const Tokenizer tokenizer = Tokenizer::open(model_folder);
  const PromptEncoder prompts(config.section("prompt"), tokenizer, read_model_traits(run.plugins->registry, config));
  auto training_task = open_training_task(run.plugins->registry, config, prompts);
  const auto model = resumed ? open_model(run.plugins->registry, config, resumed->folder)
                             : open_initial_model(run.plugins->registry, config);
  auto evaluator = make_evaluator(run);
  const auto training = make_training(run, *model, prompts, std::move(training_task.task));
  if (!folder) folder.emplace(RunFolder::create(path));
  begin_files(*folder, run, resumed);

  Terminal terminal(std::cout, detect_terminal(1));
  RunDisplay display(terminal);
  display.header(header(run, *model, purpose, *folder, resumed));
  for (const std::string& note : config.preset_notes()) log_warning(note);
  if (!training_task.note.empty()) {
    log_info(training_task.note);
    display.message(training_task.note);
  }
  TrainingLoop loop(settings, *training, *model, *folder, make_evaluate(evaluator, config, *model, prompts, display),
                    [&](const StepRecord& step) { display.step(step); });
  if (resumed) loop.resume(*resumed);
  display.begin({purpose == ConfigPurpose::kTrain ? RunKind::kTrain : RunKind::kPretrain,
                 (resumed ? resumed->state.step : 0) + 1, settings.steps, evaluator.has_value()});
  LoopResult result;
  try {
    result = loop.run();
  } catch (const std::exception& error) {
    log_error(error.what());
    throw;
  }
  end_files(*folder, run, result, evaluator, tokenizer);
  display.close(closing(result, *folder, resume_command(purpose, path)));
  return result.signal == 0 ? 0 : 128 + result.signal;
}

}  // namespace drift
