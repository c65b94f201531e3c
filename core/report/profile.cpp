#include <core/report/profile.h>

#include <core/report/format.h>
#include <core/report/progress.h>

#include <algorithm>
#include <cmath>

namespace drift {

std::vector<PhaseShare> phase_shares(const std::vector<StepRecord>& steps) {
  std::vector<PhaseShare> shares;
  double measured_steps = 0;
  for (const StepRecord& step : steps) {
    const auto phases = step.seconds ? step.seconds->phases() : std::vector<PhaseSeconds>();
    if (phases.empty()) continue;
    ++measured_steps;
    for (const PhaseSeconds& phase : phases) {
      auto known =
          std::find_if(shares.begin(), shares.end(), [&](const PhaseShare& share) { return share.name == phase.name; });
      if (known == shares.end()) known = shares.insert(shares.end(), {phase.name, 0, 0});
      known->mean_seconds += phase.seconds;
    }
  }
  double total = 0;
  for (PhaseShare& share : shares) {
    share.mean_seconds /= measured_steps;
    total += share.mean_seconds;
  }
  for (PhaseShare& share : shares) share.share = total > 0 ? share.mean_seconds / total : 0;
  std::stable_sort(shares.begin(), shares.end(), [](const PhaseShare& a, const PhaseShare& b) {
    if ((a.name == "other") != (b.name == "other")) return b.name == "other";
    return a.mean_seconds > b.mean_seconds;
  });
  return shares;
}

std::string phase_name(const std::string& key) { return key == "old" || key == "reference" ? key + " policy" : key; }

TextTable phase_table(const std::vector<PhaseShare>& shares, int bar, bool unicode) {
  TextTable table{.is_number = {false, true, true, false}};
  for (const PhaseShare& share : shares) {
    table.rows.push_back(
        {phase_name(share.name), format_seconds(share.mean_seconds), format_percent(share.share) + " %"});
    if (bar > 0) table.rows.back().push_back(progress_bar(unicode, false, std::lround(1000 * share.share), 1000, bar));
  }
  return table;
}

std::string profile_table(const std::vector<StepRecord>& steps) {
  auto shares = phase_shares(steps);
  PhaseShare whole{"a step", 0, 1};
  for (const PhaseShare& share : shares) whole.mean_seconds += share.mean_seconds;
  if (!shares.empty()) shares.push_back(whole);
  return to_text(phase_table(shares));
}

}  // namespace drift
