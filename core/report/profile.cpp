#include <core/report/profile.h>

#include <core/report/format.h>

#include <algorithm>
#include <numeric>

namespace drift {
namespace {

std::string padded_right(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

}  // namespace

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

std::string profile_table(const std::vector<StepRecord>& steps) {
  std::string table;
  const auto shares = phase_shares(steps);
  const auto row = [&](const std::string& label, const std::string& name, double seconds, double share) {
    table += (table.empty() ? "" : "\n") + padded_right(label, 12) + padded_right(name, 18) +
             padded_left(format_seconds(seconds), 8) + padded_left(format_percent(share), 7) + " %";
  };
  for (const PhaseShare& share : shares)
    row(table.empty() ? "profile" : "", phase_name(share.name), share.mean_seconds, share.share);
  if (shares.empty()) return table;
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0,
                                       [](double sum, const PhaseShare& share) { return sum + share.mean_seconds; });
  row("", "a step", total, 1);
  return table;
}

}  // namespace drift
