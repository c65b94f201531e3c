#include <core/cli/run_files.h>

#include <core/base/log.h>
#include <core/base/phase_timer.h>
#include <core/boundary/last_word.h>
#include <core/boundary/method_name.h>
#include <core/cli/printing.h>
#include <core/eval/held_out.h>
#include <core/plugin/used_plugins.h>
#include <core/report/html_replay.h>
#include <core/report/html_report.h>

#include <drift/error.h>

#include <ATen/Parallel.h>

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

constexpr std::int64_t kSamplesOfEach = 4;
constexpr std::int64_t kReplayed = 4;
constexpr int kShareOfPages = 100;  // of the time, one part

std::string name_of(RunOutcome outcome) {
  static constexpr const char* kNames[] = {"unfinished", "finished", "interrupted", "failed"};
  return kNames[static_cast<int>(outcome)];
}

Json held_out_json(const LoopResult& result) {
  Json held_out;
  if (result.before) {
    held_out["before"] = result.before->accuracy;
    held_out["before_standard_error"] = result.before->standard_error;
  }
  if (result.after) {
    held_out["after"] = result.after->accuracy;
    held_out["standard_error"] = result.after->standard_error;
    if (!std::isnan(result.after->validation)) held_out["validation"] = result.after->validation;
  }
  if (!held_out.empty()) held_out["items"] = (result.after ? result.after : result.before)->items;
  return held_out;
}

std::string summary_json(const LoadedRun& run, RunOutcome outcome, const LoopResult& result, const std::string& error) {
  const RunConfig& config = run.config;
  Json summary;
  summary["version"] = DRIFT_VERSION;
  summary["status"] = name_of(outcome);
  if (!error.empty()) summary["error"] = error;
  if (config.has("algorithm")) {
    summary["algorithm"] = config.component("algorithm");
    const std::string method = method_name(run.registry(), config);
    if (method != config.component("algorithm")) summary["method"] = method;
  }
  summary["model"] = config.component("model");
  summary["task"] = config.component("task");
  summary["seed"] = config.get<RunSettings>().seed;
  summary["device"] = config.get<RunSettings>().device_name();
  summary["threads"] = at::get_num_threads();
  summary["steps"] = result.last_step;
  summary["seconds"] = result.seconds;
  summary["evaluation_seconds"] = result.evaluation_seconds;
  summary["start_seconds"] = result.start_seconds;
  summary["total_seconds"] = result.earlier_seconds + kProgramTimer.seconds();
  summary["peak_memory_mib"] = peak_memory_mib();
  summary["checkpoint"] = result.checkpoint.filename().string();
  if (!result.warnings.empty()) summary["warnings"] = result.warnings;
  if (Json held_out = held_out_json(result); !held_out.empty()) summary["held_out"] = std::move(held_out);
  return json_text(summary, 1) + "\n";
}

/// "puzzles, size = 6": the task with the parameters that are not its defaults.
std::string data_text(const RunConfig& config) {
  std::string text = config.component("task");
  for (const ResolvedSection& section : config.sections()) {
    for (const ResolvedValue& value : section.values) {
      if (section.name == "task" && value.name != "name" && value.origin.kind != Origin::Kind::kDefault)
        text += ", " + value.name + " = " + to_toml(value.value);
    }
  }
  return text;
}

std::string accuracy_line(const std::string& when, const HeldOutResult& result) {
  return "- held-out accuracy " + when + ": " + format_percent(result.accuracy) + " % of " +
         std::to_string(result.items) + " items (standard error " + format_percent(result.standard_error) + ")\n";
}

/// All that decides a number of the run, or how it is measured.
std::map<std::string, std::string> settings_of(const RunConfig& config, Identity& identity) {
  const auto settings = identity.settings(config, IdentityOf::kRun);
  return {settings.begin(), settings.end()};
}

}  // namespace

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

RunFiles::RunFiles(const RunFolder& folder, const LoadedRun& run, const Tokenizer& tokenizer, Identity& identity)
    : folder_(folder), run_(run), tokenizer_(tokenizer), identity_(identity) {}

std::vector<std::string> RunFiles::begin(const std::optional<ResumePoint>& resumed, ConfigPurpose purpose) {
  const std::filesystem::path log = folder_.path() / "log.txt";
  open_log(log);
  set_last_word_log(log);
  log_info(std::string("drift " DRIFT_VERSION ", ") + std::to_string(at::get_num_threads()) + " threads, " +
           (resumed ? "continuing from " + resumed->folder.string() : "a new run"));
  const auto changes = resumed ? record_changes(resumed->state.step, purpose) : std::vector<std::string>();
  folder_.write_file("config.toml", run_.config.resolved_toml(folder_.path()));
  const auto plugins = used_plugins(run_.config, run_.registry(), run_.plugins->loader);
  const std::filesystem::path record = folder_.path() / "plugins.json";
  for (const std::string& change : resumed ? changed_plugins(record, plugins) : std::vector<std::string>())
    log_warning(change + "; the run continues with other code than it began with");
  folder_.write_file(record.filename().string(), used_plugins_json(plugins, run_.config, run_.registry()));
  return changes;
}

std::vector<std::string> RunFiles::record_changes(std::int64_t step, ConfigPurpose purpose) const {
  std::vector<Difference> found;
  try {
    const auto document = load_document(folder_.path() / "config.toml", {});
    const RunConfig before = resolve_config(document, run_.registry(), purpose);
    found = differences(settings_of(before, identity_), settings_of(run_.config, identity_));
  } catch (const Error& error) {
    log_warning("what the run's config.toml had before is not known: " + std::string(error.what()));
  }
  std::vector<std::string> lines;
  for (const Difference& change : found) {
    folder_.append_line(
        "changes.jsonl",
        json_text(Json{{"step", step}, {"key", change.key}, {"before", change.there}, {"after", change.here}}));
    lines.push_back("from step " + std::to_string(step + 1) + " on: " + change.key + " = " + change.here + ", was " +
                    change.there);
    log_info(lines.back());
  }
  return lines;
}

void RunFiles::write(RunOutcome outcome, const LoopResult& result, const std::vector<AnsweredItem>& answers,
                     const std::string& error) const {
  folder_.write_file("summary.json", summary_json(run_, outcome, result, error));
  if (!answers.empty()) {
    folder_.write_file("samples.json", samples_json(answers, result.last_step, tokenizer_, kSamplesOfEach));
    const bool before = result.last_step == 0;
    folder_.write_file(before ? "replay_before.html" : "replay_after.html",
                       html_replay(before ? "Before training" : "After step " + std::to_string(result.last_step),
                                   folder_.path().filename().string() + " · the first held-out items",
                                   first_samples(answers, result.last_step, tokenizer_, kReplayed)));
  }
  write_report(folder_.path(), run_.config.get<AlarmLimits>());
}

std::string RunFiles::card(const std::string& command, const LoopResult& result, const StepRecord& last) const {
  const RunConfig& config = run_.config;
  const std::filesystem::path base = run_.model_folder();
  const bool is_pretraining = std::isnan(last.value("reward"));
  const char* measure = is_pretraining ? "loss" : "reward";
  const bool is_adapter = config.get<AdapterSettings>().lora;
  return "# " + base.filename().string() + " after " + folder_.path().filename().string() + "\n\n" +
         (is_adapter ? "An adapter of its base. " : "") +
         "Trained by Drift " DRIFT_VERSION " from another model: see " +
         "that one's own card and licence.\n\n- base: `" + base.string() + "`\n- run: `" + folder_.path().string() +
         "`, seed " + std::to_string(run_.seed()) + "\n- data: `" + data_text(config) +
         "`\n- algorithm: " + (is_pretraining ? "pretraining" : method_name(run_.registry(), config)) +
         "\n- steps: " + std::to_string(result.last_step) + "\n- " + measure +
         " of the last step: " + format_adaptive(last.value(measure)) + "\n" +
         (result.before ? accuracy_line("before", *result.before) : "") +
         (result.after ? accuracy_line("at the last evaluation", *result.after) : "") + "\n```\n" + command +
         "\n```\n\n`config.toml` in the run's folder has every setting.\n";
}

void RunFiles::follow(const StepRecord& step, const LoopResult& result, const std::vector<AnsweredItem>& answers) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  if (!step.held_out && begun < next_page_) return;
  try_to_write(RunOutcome::kUnfinished, result, step.held_out ? answers : std::vector<AnsweredItem>());
  const auto taken = Clock::now() - begun;
  const auto pause = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kSecondsBetweenPages));
  next_page_ = begun + std::max(pause, kShareOfPages * taken);
}

void RunFiles::try_to_write(RunOutcome outcome, const LoopResult& result, const std::vector<AnsweredItem>& answers,
                            const std::string& error) const {
  try {
    write(outcome, result, answers, error);
  } catch (const std::exception& further) {
    log_info(std::string("summary and report could not be written: ") + further.what());
  }
}

}  // namespace drift
