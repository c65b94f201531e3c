#include <core/record/alarms.h>

#include <core/record/estimate.h>

#include <cmath>
#include <cstdio>

namespace drift {
namespace {

/// After these steps, groups of equal rewards are no surprise: the model may solve nearly all.
constexpr std::int64_t kEarlySteps = 5;

std::string shown_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

Estimate mean_of(const std::deque<double>& values) { return estimate({values.begin(), values.end()}); }

}  // namespace

const std::vector<AlarmDoc>& alarm_docs() {
  static const std::vector<AlarmDoc> docs = {
      {"length_drift", "response_length", "response length drifts",
       "the reward may pay for length, or the model forgets where a response ends",
       "read the responses in report.html, and make what is cut off wrong (reward.truncation_is_wrong), or reward the "
       "form "
       "of the answer"},
      {"reward_collapse", "reward", "reward collapses",
       "the run has lost what it had learned, mostly by steps that are too large",
       "continue from an earlier checkpoint with a lower train.learning_rate, or with more weight on the KL where the "
       "loss has one"},
      {"equal_groups", "live_groups", "groups have equal rewards", "nothing to learn from them",
       "choose problems that the model solves sometimes, a larger train.group_size or a higher rollout.temperature"},
      {"entropy_collapse", "token_surprisal", "the policy becomes certain",
       "it writes nearly the same tokens every time, and so no longer finds better responses",
       "lower train.learning_rate, raise rollout.temperature, or end the run here"},
      {"kl_blowup", "loss/kl", "KL to the reference is large",
       "the policy is far from the reference, where estimates of the KL and of ratios are mostly noise",
       "lower train.learning_rate or train.inner_iterations, or put more weight on the KL"},
      {"same_responses", "same_responses", "responses of a group are the same",
       "a group compares a response with itself",
       "raise rollout.temperature, and look whether [rollout] draws its tokens at all"},
      {"rollout_gap", "rollout_gap", "rollout and training disagree",
       "training scores other log-probabilities than those that the tokens were drawn from, by a cache or a horizon",
       "set algorithm.rollout_correction = \"truncated\", or refresh the cache more often"},
      {"throughput_drop", "tokens_per_second", "the rollout is slower than before",
       "another program computes, memory is swapped, or prompts have grown",
       "look at the machine's load and memory, and at the chart of time in report.html"},
  };
  return docs;
}

std::string Alarm::lesson() const { return std::string(doc->meaning) + ". Try: " + doc->advice; }

std::string Alarm::text() const { return found + ": " + lesson() + " (alarm " + doc->name + ")"; }

const AlarmWatch::History& AlarmWatch::follow(const StepRecord& step, const char* metric) {
  History& history = histories_[metric];
  const double value = step.value(metric);
  if (!std::isfinite(value)) return history;
  const auto window = static_cast<std::size_t>(limits_.window);
  if (history.first.size() < window) history.first.push_back(value);
  history.last.push_back(value);
  if (history.last.size() > window) history.last.pop_front();
  ++history.count;
  const Estimate mean = mean_of(history.last);
  if (history.last.size() == window && !(mean.mean <= history.best_mean)) {
    history.best_mean = mean.mean;
    history.best_error = std::isnan(mean.error) ? 0 : mean.error;
  }
  return history;
}

std::string AlarmWatch::length_drift(const StepRecord& step) {
  const History& length = follow(step, "response_length");
  if (!has_two_windows(length)) return {};
  const double first = estimate(length.first).mean, last = mean_of(length.last).mean;
  if (std::abs(last - first) <= limits_.length_drift * first) return {};
  return "responses have " + shown_number(last) + " tokens, " + shown_number(first) + " in the first " +
         std::to_string(limits_.window) + " steps";
}

std::string AlarmWatch::reward_collapse(const StepRecord& step) {
  const History& reward = follow(step, "reward");
  if (!has_two_windows(reward)) return {};
  const Estimate last = mean_of(reward.last);
  const double fall = reward.best_mean - last.mean;
  // What noise explains is no collapse: three standard errors of the difference.
  const double noise = 3 * std::hypot(reward.best_error, std::isnan(last.error) ? 0 : last.error);
  if (fall <= noise || fall <= limits_.reward_collapse * std::abs(reward.best_mean)) return {};
  return "the reward is " + shown_number(last.mean) + ", and was " + shown_number(reward.best_mean) + ", means of " +
         std::to_string(limits_.window) + " steps";
}

std::string AlarmWatch::equal_groups(const StepRecord& step) const {
  if (!step.live_groups || step.groups == 0) return {};
  const auto live = static_cast<double>(*step.live_groups), groups = static_cast<double>(step.groups);
  if (*step.live_groups > 0 && (step.step > kEarlySteps || live >= limits_.equal_groups * groups)) return {};
  const std::int64_t equal = step.groups - *step.live_groups;
  return (equal == step.groups ? "all " : std::to_string(equal) + " of ") + std::to_string(step.groups) +
         " groups have equal rewards" + (step.skipped ? ", step skipped" : "");
}

std::string AlarmWatch::entropy_collapse(const StepRecord& step) {
  const History& surprisal = follow(step, "token_surprisal");
  if (!has_two_windows(surprisal)) return {};
  const double first = estimate(surprisal.first).mean, last = mean_of(surprisal.last).mean;
  if (last >= limits_.entropy_collapse * first) return {};
  return "a token's surprisal is " + shown_number(last) + " nats, " + shown_number(first) + " in the first " +
         std::to_string(limits_.window) + " steps";
}

std::string AlarmWatch::kl_blowup(const StepRecord& step) {
  const double kl = mean_of(follow(step, "loss/kl").last).mean;
  if (!(kl > limits_.kl_blowup)) return {};
  return "the KL is " + shown_number(kl) + ", mean of " + std::to_string(histories_["loss/kl"].last.size()) + " steps";
}

std::string AlarmWatch::same_responses(const StepRecord& step) {
  const double share = mean_of(follow(step, "same_responses").last).mean;
  if (!(share >= limits_.same_responses)) return {};
  return shown_number(100 * share) + " % of the responses after the first of a group equal an earlier one";
}

std::string AlarmWatch::rollout_gap(const StepRecord& step) {
  const double gap = mean_of(follow(step, "rollout_gap").last).mean;
  if (!(gap > limits_.rollout_gap)) return {};
  return "log-probabilities differ by " + shown_number(gap) + " nats";
}

std::string AlarmWatch::throughput_drop(const StepRecord& step) {
  const History& speed = follow(step, "tokens_per_second");
  if (!has_two_windows(speed)) return {};
  const double last = mean_of(speed.last).mean;
  if (last >= (1 - limits_.throughput_drop) * speed.best_mean) return {};
  return shown_number(last) + " tokens per second, and " + shown_number(speed.best_mean) + " before, means of " +
         std::to_string(limits_.window) + " steps";
}

std::vector<Alarm> AlarmWatch::look(const StepRecord& step) {
  if (step.step == 0) return {};
  struct Sign {
    double limit;
    std::string found;
  };
  // In the order of alarm_docs().
  const Sign signs[] = {{limits_.length_drift, length_drift(step)}, {limits_.reward_collapse, reward_collapse(step)},
                        {limits_.equal_groups, equal_groups(step)}, {limits_.entropy_collapse, entropy_collapse(step)},
                        {limits_.kl_blowup, kl_blowup(step)},       {limits_.same_responses, same_responses(step)},
                        {limits_.rollout_gap, rollout_gap(step)},   {limits_.throughput_drop, throughput_drop(step)}};
  std::vector<Alarm> raised;
  for (std::size_t i = 0; i < std::size(signs); ++i) {
    if (signs[i].limit == 0 || signs[i].found.empty()) continue;
    const AlarmDoc& doc = alarm_docs()[i];
    const auto [seen, is_new] = seen_.emplace(doc.name, step.step);
    if (is_new || step.step - seen->second > limits_.window) raised.push_back({step.step, &doc, signs[i].found});
    seen->second = step.step;
  }
  return raised;
}

std::vector<Alarm> alarms_of(const std::vector<StepRecord>& steps, const AlarmLimits& limits) {
  AlarmWatch watch(limits);
  std::vector<Alarm> all;
  for (const StepRecord& step : steps) {
    for (Alarm& alarm : watch.look(step)) all.push_back(std::move(alarm));
  }
  return all;
}

}  // namespace drift
