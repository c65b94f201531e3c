#include <core/tracking/run_tracker.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <string>

namespace drift {
namespace {

/// Every number of an object, those within named as "seconds/rollout".
void take_numbers(const nlohmann::json& object, const std::string& prefix, std::map<std::string, double>& numbers) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) take_numbers(value, prefix + name + "/", numbers);
    if (value.is_boolean()) numbers[prefix + name] = value.get<bool>() ? 1 : 0;
    if (value.is_number()) numbers[prefix + name] = value.get<double>();
  }
}

TrackedStep tracked_step(const StepRecord& step, const std::vector<SampleText>& held_out) {
  TrackedStep tracked;
  tracked.step = step.step;
  take_numbers(nlohmann::json::parse(to_json_line(step)), "", tracked.numbers);
  tracked.numbers.erase("step");
  for (const auto& [name, values] : step.distributions) {
    if (Histogram histogram = histogram_of(values); histogram.count > 0)
      tracked.histograms[name] = std::move(histogram);
  }
  if (!step.samples.empty()) tracked.samples["samples"] = step.samples;
  if (!held_out.empty()) tracked.samples["held_out_samples"] = held_out;
  return tracked;
}

}  // namespace

RunTracker::RunTracker(const std::filesystem::path& run_folder, const TrackingSettings& settings,
                       const TrackedRun& run) {
  if (settings.tensorboard) tensorboard_.emplace(run_folder / "tensorboard", run);
  if (settings.wandb) wandb_.emplace(run_folder / "wandb", settings.project, run);
}

void RunTracker::step(const StepRecord& step, const std::vector<SampleText>& held_out) {
  if (!tensorboard_ && !wandb_) return;
  const TrackedStep tracked = tracked_step(step, held_out);
  if (tensorboard_) tensorboard_->write(tracked);
  if (wandb_) wandb_->write(tracked);
}

void RunTracker::end(int status) {
  if (wandb_) wandb_->end(status);
}

void RunTracker::try_to_end(int status) {
  try {
    end(status);
  } catch (const Error&) {
    // what ended the run is likely to be the same
  }
}

}  // namespace drift
