#include <core/report/watch_screen.h>

#include <core/base/limits.h>
#include <core/base/quote.h>
#include <core/report/format.h>
#include <core/report/progress.h>
#include <core/report/step_quantities.h>
#include <core/report/terminal.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <set>

namespace drift {
namespace {

constexpr int kWatchedBar = 10, kSparkColumns = 16;  // columns
constexpr std::size_t kBetweenRunColumns = 2;

/// A column of the table.
struct RunColumn {
  std::string title;
  int rank;  ///< if the table is too wide, the highest rank is left out first
  bool number;
  std::vector<std::string> cells = {};

  std::size_t width() const {
    auto width = static_cast<std::size_t>(display_width(title));
    for (const std::string& cell : cells) width = std::max(width, static_cast<std::size_t>(display_width(cell)));
    return width;
  }
  bool is_empty() const {
    return std::ranges::all_of(cells, [](const std::string& cell) { return cell.empty() || cell == "-"; });
  }
};

std::string state_cell(const WatchedRun& run, const WatchView& view) {
  const bool runs = run.state == WatchedState::kRunning;
  const bool silent = run.state == WatchedState::kLost || (runs && run.is_quiet());
  std::string text = name_of(run.state);
  if (silent && !std::isnan(run.quiet)) text += ", quiet for " + format_duration(run.quiet);
  const bool bad = silent || run.state == WatchedState::kFailed;
  return styled(text, bad ? Style::kWarning : runs ? Style::kAccent : Style::kPlain, view.color);
}

std::string step_cell(const WatchedRun& run, const WatchView& view) {
  const std::string done = std::to_string(run.last_step());
  if (run.steps_planned == 0) return done;
  return progress_bar(view.unicode, view.color, run.last_step(), run.steps_planned, kWatchedBar) + " " + done + "/" +
         std::to_string(run.steps_planned);
}

std::string percent_cell(double fraction) { return std::isnan(fraction) ? "-" : format_percent(fraction) + " %"; }

std::string name_cell(const WatchedRun& run, const WatchView& view, bool chosen, bool alone) {
  const char* pointer = view.unicode ? "▸ " : "> ";
  const std::string name = truncate_to_width(on_one_line(run.name), view.columns * 2 / 5);
  return (alone ? "" : chosen ? pointer : "  ") + styled(name, chosen ? Style::kStrong : Style::kPlain, view.color);
}

std::vector<RunColumn> run_columns(const std::vector<WatchedRun>& runs, const WatchView& view) {
  std::vector<RunColumn> columns = {{"run", 0, false},   {"state", 0, false}, {"step", 1, false},
                                    {"reward", 2, true}, {"solved", 3, true}, {"held-out", 4, true},
                                    {"rate", 6, true},   {"left", 5, true},   {"alarms", 7, true}};
  const std::string metric = view.run < runs.size() ? shown_metric(runs[view.run], view) : "";
  columns.push_back({on_one_line(metric), 8, false});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const WatchedRun& run = runs[i];
    const std::string rate = describe_rate(1 / run.seconds_per_step(), "step");
    const std::string alarms = run.alarms.empty() ? "" : std::to_string(run.alarms.size());
    const std::string cells[] = {name_cell(run, view, i == view.run, runs.size() == 1),
                                 state_cell(run, view),
                                 step_cell(run, view),
                                 format_decimal(last_watched(run, "reward"), 3),
                                 percent_cell(last_watched(run, "solved")),
                                 percent_cell(last_watched(run, "held_out")),
                                 rate,
                                 std::isnan(run.seconds_left()) ? "" : format_duration(run.seconds_left()),
                                 styled(alarms, Style::kWarning, view.color),
                                 text_spark(values_of(run.steps, metric), kSparkColumns, view.unicode)};
    for (std::size_t column = 0; column < columns.size(); ++column) columns[column].cells.push_back(cells[column]);
  }
  std::erase_if(columns, [](const RunColumn& column) { return column.rank > 0 && column.is_empty(); });
  return columns;
}

/// Without those that do not fit.
std::vector<RunColumn> fitting_columns(std::vector<RunColumn> columns, int available) {
  const auto width = [&] {
    std::size_t sum = 0;
    for (const RunColumn& column : columns) sum += column.width() + kBetweenRunColumns;
    return static_cast<int>(sum - kBetweenRunColumns);
  };
  while (columns.size() > 2 && width() > available)
    columns.erase(std::ranges::max_element(columns, {}, &RunColumn::rank));
  return columns;
}

}  // namespace

std::string shown_metric(const WatchedRun& run, const WatchView& view) {
  const std::vector<std::string> metrics = watched_metrics(run);
  if (std::ranges::count(metrics, view.metric) > 0) return view.metric;
  return metrics.empty() ? "" : metrics.front();
}

double last_watched(const WatchedRun& run, const std::string& metric) {
  for (auto step = run.steps.rbegin(); step != run.steps.rend(); ++step) {
    if (const double value = step->value(metric); !std::isnan(value)) return value;
  }
  return kUnknown;
}

std::vector<std::string> watched_metrics(const WatchedRun& run) {
  std::vector<std::string> names = {"reward",
                                    "held_out",
                                    "solved",
                                    "loss",
                                    "response_length",
                                    "token_surprisal",
                                    "grad_norm",
                                    "live_groups",
                                    "same_responses",
                                    "rollout_gap",
                                    "value_loss",
                                    "value_explained_variance",
                                    "tokens_per_second",
                                    "seconds",
                                    "learning_rate",
                                    "rank_idle"};
  std::set<std::string> others;
  for (const StepRecord& step : run.steps) {
    for (const auto& [label, value] : step.reward_parts) others.insert("reward." + label);
    for (const auto& [name, value] : step.loss_metrics) others.insert("loss/" + name);
    for (const auto& [name, value] : step.plugin_metrics) others.insert(name);
  }
  std::ranges::copy(others | std::views::take(kMostOwnMetrics), std::back_inserter(names));
  std::erase_if(names, [&](const std::string& name) { return std::isnan(last_watched(run, name)); });
  return names;
}

std::vector<std::string> watched_table(const std::vector<WatchedRun>& runs, const WatchView& view, std::size_t most) {
  const std::size_t shown = std::min(most, runs.size());
  const std::size_t begin = std::min(view.run - std::min(view.run, shown / 2), runs.size() - shown);
  std::vector<RunColumn> columns = run_columns(runs, view);
  if (shown < runs.size())
    columns[0].title = "run " + std::to_string(view.run + 1) + " of " + std::to_string(runs.size());
  columns = fitting_columns(std::move(columns), view.columns);
  std::vector<std::string> lines(shown + 1);
  for (std::size_t row = 0; row <= shown; ++row) {
    for (std::size_t at = 0; at < columns.size(); ++at) {
      const RunColumn& column = columns[at];
      const std::string cell =
          row == 0 ? styled(column.title, Style::kFaint, view.color) : column.cells[begin + row - 1];
      lines[row] += std::string(at == 0 ? 0 : kBetweenRunColumns, ' ') + aligned(cell, column.width(), column.number);
    }
    if (!view.color) lines[row].erase(lines[row].find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace drift
