#pragma once

// Alarms: signs in the records of a run's steps that it goes wrong, with what they mean and what to try. They follow
// from metrics.jsonl alone, so that they can be computed again for any run.

#include <core/config/training_settings.h>
#include <core/record/step_record.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// What an alarm says wherever it is raised.
struct AlarmDoc {
  const char* name;     ///< its key in [alarms]
  const char* metric;   ///< that it looks at
  const char* title;    ///< "response length drifts"
  const char* meaning;  ///< one sentence
  const char* advice;   ///< one sentence: what to try
};
const std::vector<AlarmDoc>& alarm_docs();

struct Alarm {
  std::int64_t step = 0;
  const AlarmDoc* doc = nullptr;
  std::string found;  ///< the numbers: "12.3 tokens, 48.0 in the first 10 steps"

  /// "the reward may pay for length, or …. Try: …"
  std::string lesson() const;
  /// One line: what was found, the lesson, "(alarm length_drift)".
  std::string text() const;
};

/// Looks at one step after the other. An alarm is raised when its sign appears, and again only after the sign was away
/// for a whole window.
class AlarmWatch {
 public:
  explicit AlarmWatch(const AlarmLimits& limits) : limits_(limits) {}

  /// @return what the step raises. The evaluation before the first step raises nothing.
  std::vector<Alarm> look(const StepRecord& step);

 private:
  /// The known values of one metric: those of the first window, of the last one, and the best mean of a window.
  struct History {
    std::vector<double> first;
    std::deque<double> last;
    double best_mean = kUnknown, best_error = kUnknown;
    std::int64_t count = 0;
  };

  const History& follow(const StepRecord& step, const char* metric);
  bool has_two_windows(const History& history) const { return history.count >= 2 * limits_.window; }
  std::string length_drift(const StepRecord& step);
  std::string reward_collapse(const StepRecord& step);
  std::string equal_groups(const StepRecord& step) const;
  std::string entropy_collapse(const StepRecord& step);
  std::string kl_blowup(const StepRecord& step);
  std::string same_responses(const StepRecord& step);
  std::string rollout_gap(const StepRecord& step);
  std::string throughput_drop(const StepRecord& step);

  AlarmLimits limits_;
  std::map<std::string, History, std::less<>> histories_;
  std::map<std::string_view, std::int64_t> seen_;  ///< the last step with the sign of an alarm
};

/// Of all steps of a run, in their order.
std::vector<Alarm> alarms_of(const std::vector<StepRecord>& steps, const AlarmLimits& limits);

}  // namespace drift
