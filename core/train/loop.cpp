#include <core/train/loop.h>

#include <core/base/log.h>
#include <core/base/phase_timer.h>
#include <core/base/stop_signal.h>

#include <drift/error.h>

#include <charconv>
#include <cmath>
#include <new>

namespace drift {
namespace {

// Doubles go through the checkpoint as text without losing a bit.
std::string exact(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

double parsed(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  double value = 0;
  if (found == values.end())
    throw Error("the training state lacks `" + key + "`", "the checkpoint was written by another version of Drift");
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

}  // namespace

TrainingLoop::TrainingLoop(const LoopSettings& settings, Training& training, const Model& model,
                           const RunFolder& folder, Evaluate evaluate, Observe observe)
    : settings_(settings),
      training_(training),
      model_(model),
      folder_(folder),
      evaluate_(std::move(evaluate)),
      observe_(std::move(observe)) {}

void TrainingLoop::resume(const ResumePoint& point) {
  training_.load_state(point.state.tensors);
  result_.last_step = point.state.step;
  result_.checkpoint = point.folder;
  const auto& values = point.state.values;
  result_.seconds = parsed(values, "seconds");
  if (values.contains("before.accuracy")) {
    HeldOutResult before;
    before.accuracy = parsed(values, "before.accuracy");
    before.standard_error = parsed(values, "before.standard_error");
    before.items = static_cast<std::int64_t>(parsed(values, "before.items"));
    result_.before = before;
  }
}

LoopResult TrainingLoop::run() {
  const StopSignal stop;
  folder_.truncate_metrics(result_.checkpoint.empty() ? -1 : result_.last_step);
  if (result_.checkpoint.empty() && evaluate_ && settings_.evaluate_before) {
    guarded("evaluation before the first step", [&] {
      StepRecord metrics;
      evaluate(metrics);
      result_.before = metrics.held_out;
      record(metrics);
    });
  }
  // Killed after the last checkpoint, or asked to continue a finished run: its result must still be reported.
  if (result_.last_step >= settings_.steps && evaluate_) {
    guarded("evaluation after the last step", [&] {
      StepRecord metrics;
      evaluate(metrics);
    });
  }
  while (result_.last_step < settings_.steps && StopSignal::received() == 0) {
    const std::int64_t step = result_.last_step + 1;
    guarded("step " + std::to_string(step), [&] { train_step(step); });
  }
  result_.signal = StopSignal::received();
  return result_;
}

// An error says when it came, and what of the run is safe.
void TrainingLoop::guarded(const std::string& when, const std::function<void()>& action) const {
  const std::string safe = result_.checkpoint.empty() ? "no checkpoint had been written yet"
                                                      : "safe on disk: " + result_.checkpoint.string();
  try {
    action();
  } catch (const Error& error) {
    throw Error(when + ": " + error.what(), error.hint() + (error.hint().empty() ? "" : "\n    ") + safe);
  } catch (const std::bad_alloc&) {
    throw;  // the program knows what to advise
  } catch (const std::exception& error) {
    throw Error(when + ": " + error.what(), safe);
  }
}

void TrainingLoop::train_step(std::int64_t step) {
  const PhaseTimer timer;
  StepRecord metrics = training_.run(step);
  result_.last_step = step;
  metrics.seconds->total += unaccounted_;
  warn(metrics);
  result_.seconds += timer.seconds();
  const bool last = step == settings_.steps;
  const bool due = settings_.evaluate_every > 0 && step % settings_.evaluate_every == 0;
  if (evaluate_ && (last || due)) evaluate(metrics);

  const PhaseTimer record_timer;
  record(metrics);
  unaccounted_ = record_timer.seconds();
  result_.seconds += unaccounted_;
  const bool save_due = settings_.checkpoint_every > 0 && step % settings_.checkpoint_every == 0;
  if (last || save_due || StopSignal::received() != 0) save(step);
}

void TrainingLoop::evaluate(StepRecord& metrics) {
  metrics.held_out = evaluate_();
  result_.after = metrics.held_out;
}

void TrainingLoop::record(const StepRecord& metrics) {
  folder_.append_metrics(to_json_line(metrics));
  observe_(metrics);
}

void TrainingLoop::save(std::int64_t step) {
  RunCheckpoint checkpoint;
  checkpoint.parameters = model_.parameters();
  checkpoint.config_json = settings_.model_config_json;
  checkpoint.source = settings_.model_folder;
  checkpoint.state.step = step;
  checkpoint.state.seed = settings_.seed;
  checkpoint.state.config_hash = settings_.config_hash;
  checkpoint.state.tensors = training_.state();
  checkpoint.state.values["seconds"] = exact(result_.seconds);
  if (result_.before) {
    checkpoint.state.values["before.accuracy"] = exact(result_.before->accuracy);
    checkpoint.state.values["before.standard_error"] = exact(result_.before->standard_error);
    checkpoint.state.values["before.items"] = std::to_string(result_.before->items);
  }
  result_.checkpoint = folder_.save_checkpoint(checkpoint, settings_.keep_checkpoints);
  log_info("checkpoint " + result_.checkpoint.string());
}

// A run that cannot learn should say so while there is time to do something about it.
void TrainingLoop::warn(const StepRecord& metrics) {
  if (!metrics.live_groups) return;
  skipped_in_a_row_ = metrics.skipped ? skipped_in_a_row_ + 1 : 0;
  const std::string at = "step " + std::to_string(metrics.step) + ": ";
  if (skipped_in_a_row_ == 1 || (skipped_in_a_row_ > 0 && skipped_in_a_row_ % 10 == 0)) {
    log_warning(at + "all rewards of each group are equal" +
                (skipped_in_a_row_ > 1 ? ", for " + std::to_string(skipped_in_a_row_) + " steps now" : "") +
                "; there is nothing to learn, so the optimizer step is skipped");
  } else if (metrics.step <= 5 && metrics.groups > 0 && 10 * *metrics.live_groups < metrics.groups &&
             !metrics.skipped) {
    log_warning(at + "only " + std::to_string(*metrics.live_groups) + " of " + std::to_string(metrics.groups) +
                " groups have differing rewards; a higher rollout.temperature, larger groups or other problems would "
                "teach more");
  }
}

}  // namespace drift
