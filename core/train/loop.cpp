#include <core/train/loop.h>

#include <core/base/adapters.h>
#include <core/base/phase_timer.h>
#include <core/base/stop_signal.h>
#include <core/boundary/divided_weights.h>
#include <core/boundary/plugin_call.h>
#include <core/record/metrics_reader.h>

#include <drift/error.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <new>

namespace drift {
namespace {

namespace fs = std::filesystem;

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

constexpr std::int64_t kRanksInMetrics = 16;
constexpr double kSameOnAllRanks = 1e-4;  // relative; rounding is far less

/// Of each rank, its number.
at::Tensor of_all_ranks(Ranks& ranks, double value) { return ranks.all_gather(at::full({1}, value, at::kDouble)); }

/// What every rank computes must not drift apart unseen. @throws Error if it has
void require_same_number(Ranks& ranks, const char* name, double value) {
  const auto value_R = of_all_ranks(ranks, value);
  for (std::int64_t r = 1; r < value_R.size(0); ++r) {
    const double first = value_R[0].item<double>(), other = value_R[r].item<double>();
    const bool same = std::isnan(first)
                          ? std::isnan(other)
                          : std::abs(other - first) <= kSameOnAllRanks * (std::abs(first) + kSameOnAllRanks);
    if (!same)
      throw Error(std::string("the ranks no longer compute the same: ") + name + " is " + exact(first) + " on " +
                      ranks.name(0) + ", " + exact(other) + " on " + ranks.name(r),
                  "a plugin that is not a function of its input and its random stream does this, or a faulty machine");
  }
}

/// The signal that ends the run after this step, or 0. Ranks hear of one at different times, and must end after the
/// same step.
int stop_signal(Ranks& ranks) {
  return static_cast<int>(of_all_ranks(ranks, StopSignal::received()).max().item<double>());
}

/// Every rank writes its parts into a file that the first one has made and names.
/// @return false if it names none: that was the last one
bool write_parts(Ranks& ranks, const fs::path& file, const std::vector<TensorPart>& parts) {
  const fs::path made = ranks.broadcast(file.string());
  if (made.empty()) return false;
  write_elements(made, parts);
  of_all_ranks(ranks, 0);  // until all have
  return true;
}

/// This rank's share of each weight.
std::vector<TensorPart> weight_parts(const Ranks& ranks, const Model& model) {
  std::vector<TensorPart> parts;
  for (const HeldWeight& weight : held_weights(model)) {
    const auto [begin, end] = ranks.share(weight.parameter.numel());
    const auto values =
        weight.is_share ? weight.values : weight.values.detach().view({-1}).narrow(0, begin, end - begin);
    parts.push_back({weight.name, begin, values.cpu()});
  }
  return parts;
}

std::vector<NamedTensor> without_values(std::vector<NamedTensor> tensors) {
  for (NamedTensor& one : tensors)
    one.tensor = at::empty(one.tensor.sizes(), one.tensor.options().device(at::kMeta).requires_grad(false));
  return tensors;
}

}  // namespace

TrainingLoop::TrainingLoop(Ranks& ranks, KeptWarnings& warnings, const LoopSettings& settings, Training& training,
                           const Model& model, const RunFolder* folder, Evaluate evaluate, Observe observe)
    : ranks_(ranks),
      warnings_(warnings),
      settings_(settings),
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
  if (values.contains("total_seconds")) {  // older checkpoints lack them
    result_.evaluation_seconds = parsed(values, "evaluation_seconds");
    result_.start_seconds = parsed(values, "start_seconds");
    result_.earlier_seconds = parsed(values, "total_seconds");
  }
  if (values.contains("before.accuracy")) {
    HeldOutResult before;
    before.accuracy = parsed(values, "before.accuracy");
    before.standard_error = parsed(values, "before.standard_error");
    before.items = static_cast<std::int64_t>(parsed(values, "before.items"));
    result_.before = before;
    best_accuracy_ = before.accuracy;
  }
}

LoopResult TrainingLoop::run() {
  const StopSignal stop(ranks_.is_first() ? "step" : nullptr);
  result_.start_seconds += kProgramTimer.seconds();
  if (folder_ != nullptr) folder_->forget_steps_after(result_.checkpoint.empty() ? -1 : result_.last_step);
  if (settings_.keep_best) find_best();
  if (result_.checkpoint.empty() && evaluate_ && settings_.evaluate_before) {
    set_current_step(0);
    guarded("evaluation before the first step", [&] {
      StepRecord metrics;
      evaluate(metrics);
      show_warnings_of_ranks();
      result_.before = metrics.held_out;
      record(metrics);
    });
  }
  // Killed after the last checkpoint, or asked to continue a finished run: its result must still be reported.
  if (result_.last_step >= settings_.steps && evaluate_) {
    set_current_step(result_.last_step);
    guarded("evaluation after the last step", [&] {
      StepRecord metrics;
      metrics.step = result_.last_step;
      evaluate(metrics);
      show_warnings_of_ranks();
    });
  }
  result_.signal = stop_signal(ranks_);
  while (result_.last_step < settings_.steps && result_.signal == 0) {
    const std::int64_t step = result_.last_step + 1;
    set_current_step(step);
    guarded("step " + std::to_string(step), [&] { train_step(step); });
  }
  set_current_step(kNoStep);
  if (result_.signal == 0) result_.signal = stop_signal(ranks_);
  return result_;
}

// An error says when it came, and what of the run is safe.
void TrainingLoop::guarded(const std::string& when, const std::function<void()>& action) const {
  const std::string safe = result_.checkpoint.empty() ? "no checkpoint had been written yet"
                                                      : "safe on disk: " + result_.checkpoint.string();
  if (!ranks_.is_first()) return action();  // the first rank reports, and adds this
  try {
    action();
  } catch (const Error& error) {
    throw Error(when + ": " + error.what(), error.hint() + (error.hint().empty() ? "" : "\n    ") + safe);
  } catch (const std::bad_alloc&) {
    throw;  // the program knows what to advise
  } catch (const std::exception&) {
    throw Error(when + ": " + describe_exception().what(), safe);
  }
}

void TrainingLoop::train_step(std::int64_t step) {
  const PhaseTimer timer;
  const double waited = ranks_.waited();
  StepRecord metrics = training_.run(step);
  compare_ranks(metrics, ranks_.waited() - waited);
  result_.last_step = step;
  metrics.seconds->total += unaccounted_;
  for (const std::string& text : metrics.warnings) warn(step, text);
  result_.seconds += timer.seconds();
  const bool last = step == settings_.steps;
  const bool due = settings_.evaluate_every > 0 && step % settings_.evaluate_every == 0;
  const double best_before = best_accuracy_;
  if (evaluate_ && (last || due)) evaluate(metrics);
  show_warnings_of_ranks();

  const PhaseTimer record_timer;
  record(metrics);
  unaccounted_ = record_timer.seconds();
  result_.seconds += unaccounted_;
  const bool save_due = settings_.checkpoint_every > 0 && step % settings_.checkpoint_every == 0;
  const bool is_best = settings_.keep_best && best_accuracy_ > best_before;
  result_.signal = stop_signal(ranks_);  // asked once: what ends the run after this step saves it, too
  if (last || save_due || is_best || result_.signal != 0) save(step, is_best);
}

void TrainingLoop::compare_ranks(StepRecord& metrics, double waited) const {
  if (ranks_.size() == 1) return;
  const auto idle_R = of_all_ranks(ranks_, waited / metrics.seconds->total);
  metrics.rank_idle = idle_R.mean().item<double>();
  metrics.rank_idle_max = idle_R.max().item<double>();
  for (std::int64_t r = 0; r < std::min(idle_R.size(0), kRanksInMetrics); ++r)
    metrics.plugin_metrics["rank_idle/" + std::to_string(r)] = idle_R[r].item<double>();
  require_same_number(ranks_, "loss", metrics.loss);
  require_same_number(ranks_, "grad_norm", metrics.grad_norm);
}

/// What all ranks compute warns on all of them: the first one has said that itself.
void TrainingLoop::show_warnings_of_ranks() {
  const auto of_rank = ranks_.gather_json(warnings_.take());
  if (!ranks_.is_first()) return;
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    for (const auto& text : of_rank[r].get<std::vector<std::string>>()) {
      if (shown_.insert(text).second && r > 0) log_warning(ranks_.name(static_cast<std::int64_t>(r)) + ": " + text);
    }
  }
}

void TrainingLoop::evaluate(StepRecord& metrics) {
  const PhaseTimer timer;
  metrics.held_out = evaluate_();
  result_.evaluation_seconds += timer.seconds();
  result_.after = metrics.held_out;
  judge(metrics.step, *metrics.held_out);
}

void TrainingLoop::record(const StepRecord& metrics) {
  // Before the line: a step that is recorded has all of its files.
  if (folder_ != nullptr && !metrics.inspection.empty()) folder_->write_inspection(metrics.step, metrics.inspection);
  if (folder_ != nullptr) folder_->append_metrics(to_json_line(metrics));
  observe_(metrics);
}

/// Of the evaluations before this start. A kill may have come between the first checkpoint and its link.
void TrainingLoop::find_best() {
  if (folder_ != nullptr) {
    std::int64_t best = 0;
    for (const StepRecord& step : read_metrics(folder_->path() / "metrics.jsonl")) {
      if (!step.held_out || step.held_out->accuracy <= best_accuracy_) continue;
      best_accuracy_ = step.held_out->accuracy;
      best = step.step;
    }
    folder_->link_best(best);
  }
  best_accuracy_ = of_all_ranks(ranks_, best_accuracy_).max().item<double>();
}

void TrainingLoop::save(std::int64_t step, bool is_best) {
  const bool divided = ranks_.size() > 1 && !settings_.adapter;
  auto parts = training_.state_parts();
  const bool has_whole_state = parts.empty();
  if (divided) std::ranges::move(weight_parts(ranks_, model_), std::back_inserter(parts));
  if (folder_ == nullptr) {
    while (write_parts(ranks_, "", parts)) {
    }
    return;
  }
  RunCheckpoint checkpoint;
  const CompleteFile complete = [&](const fs::path& file) { write_parts(ranks_, file, parts); };
  checkpoint.parameters = settings_.adapter ? adapter_parameters(model_)
                          : divided         ? without_values(model_.parameters())
                                            : model_.parameters();
  if (divided) checkpoint.complete = complete;
  checkpoint.adapter = settings_.adapter;
  checkpoint.config_json = settings_.model_config_json;
  checkpoint.source = settings_.model_folder;
  if (settings_.card) checkpoint.card = settings_.card();
  checkpoint.is_best = is_best;
  checkpoint.state.step = step;
  checkpoint.state.seed = settings_.seed;
  checkpoint.state.settings = settings_.settings;
  checkpoint.state.tensors = training_.state();
  if (!has_whole_state) checkpoint.state.complete = complete;
  checkpoint.state.values["seconds"] = exact(result_.seconds);
  checkpoint.state.values["evaluation_seconds"] = exact(result_.evaluation_seconds);
  checkpoint.state.values["start_seconds"] = exact(result_.start_seconds);
  checkpoint.state.values["total_seconds"] = exact(result_.earlier_seconds + kProgramTimer.seconds());
  if (result_.before) {
    checkpoint.state.values["before.accuracy"] = exact(result_.before->accuracy);
    checkpoint.state.values["before.standard_error"] = exact(result_.before->standard_error);
    checkpoint.state.values["before.items"] = std::to_string(result_.before->items);
  }
  result_.checkpoint = folder_->save_checkpoint(checkpoint, settings_.keep_checkpoints);
  write_parts(ranks_, "", {});
  log_info("checkpoint " + result_.checkpoint.string());
}

// A run that cannot learn says so while there is time to do something about it: each reason once, and how often at the
// end.
void TrainingLoop::warn(std::int64_t step, const std::string& text) {
  if (++result_.warnings[text] > 1) return;
  log_warning((step == 0 ? "before the first step: " : "step " + std::to_string(step) + ": ") + text);
}

void TrainingLoop::judge(std::int64_t step, const HeldOutResult& result) {
  if (result.items == 0) return;
  if (result.accuracy == 0 && step == 0)
    warn(step,
         "the model solves none of the held-out items; where it solves none of the training items either, there "
         "is nothing to learn from: look at its answers (drift generate), the prompt and the reward");
  if (result.accuracy == 0 && best_accuracy_ > 0)
    warn(step,
         "held-out accuracy fell to 0, and was not 0 before; the weights may have diverged: continue from an "
         "earlier checkpoint with a lower learning_rate (--resume --set …)");
  best_accuracy_ = std::max(best_accuracy_, result.accuracy);
}

}  // namespace drift
