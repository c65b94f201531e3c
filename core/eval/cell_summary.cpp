#include <core/eval/cell_summary.h>

#include <core/report/format.h>
#include <core/statistics/estimate.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>

namespace drift {
namespace {

struct ItemShare {
  double solved = 0, value = 0, judged = 0;
};

std::string exact(double value) {
  char buffer[32];
  return std::isnan(value) ? "" : std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

std::string pair(double first, const char* between, double second) {
  return std::isnan(first) ? "-" : format_percent(first) + between + format_percent(second);
}

}  // namespace

CellSummary summarise(const EvaluationCell& cell, const std::vector<ResponseRecord>& records, std::int64_t wanted) {
  CellSummary summary;
  summary.cell = cell;
  summary.wanted = wanted;
  summary.answered = std::min(wanted, static_cast<std::int64_t>(records.size()));
  if (summary.answered == 0) return summary;
  std::map<std::string, ItemShare> items;
  double tokens = 0, forwards = 0, truncated = 0;
  summary.seconds = 0;
  for (std::int64_t number = 0; number < summary.answered; ++number) {
    const ResponseRecord& record = records[static_cast<std::size_t>(number)];
    tokens += static_cast<double>(record.token_ids.size());
    forwards += static_cast<double>(record.forwards);
    truncated += record.truncated ? 1 : 0;
    summary.seconds += record.seconds;
    if (!record.is_judged()) {
      ++summary.unjudged;
      continue;
    }
    ItemShare& item = items[record.id];
    item.solved += record.solved ? 1 : 0;
    item.value += record.value;
    item.judged += 1;
  }
  const auto answered = static_cast<double>(summary.answered);
  if (summary.seconds > 0) summary.tokens_per_second = tokens / summary.seconds;
  summary.tokens = tokens / answered;
  summary.forwards = forwards / answered;
  summary.truncated = truncated / answered;
  summary.items = static_cast<std::int64_t>(items.size());
  if (items.empty()) return summary;

  std::vector<double> shares;
  bool several = false;
  double solved = 0, value = 0;
  for (const auto& [id, item] : items) {
    shares.push_back(item.solved / item.judged);
    solved += shares.back();
    value += item.value / item.judged;
    several = several || item.judged > 1;
  }
  const auto count = static_cast<double>(items.size());
  summary.accuracy = solved / count;
  summary.value = value / count;
  summary.standard_error =
      several ? estimate(shares).error : std::sqrt(summary.accuracy * (1 - summary.accuracy) / count);
  summary.interval = wilson_interval(summary.accuracy, count);
  return summary;
}

TextTable summary_table(const std::vector<CellSummary>& cells) {
  TextTable table{
      {"cell", "accuracy %", "95 % interval", "tokens/s", "forwards", "tokens", "cut off %", "items", "time"},
      {false, true, true, true, true, true, true, true, true},
      {}};
  for (const CellSummary& cell : cells) {
    std::string items = format_integer(cell.items);
    if (cell.answered < cell.wanted)
      items = format_integer(cell.answered) + " of " + format_integer(cell.wanted) + " responses";
    if (cell.unjudged > 0) items += ", " + format_integer(cell.unjudged) + " not judged";
    table.rows.push_back({cell.cell.name(), pair(cell.accuracy, " ± ", cell.standard_error),
                          pair(cell.interval.low, " to ", cell.interval.high), format_count(cell.tokens_per_second),
                          format_decimal(cell.forwards, 1), format_decimal(cell.tokens, 1),
                          format_percent(cell.truncated), items,
                          cell.seconds >= 60 ? format_duration(cell.seconds) : format_seconds(cell.seconds)});
  }
  return table;
}

TextTable summary_numbers(const std::vector<CellSummary>& cells) {
  TextTable table{{"cell", "task", "length", "schedule", "accuracy", "standard_error", "low_95", "high_95", "reward",
                   "tokens_per_second", "forwards_per_response", "tokens_per_response", "truncated", "items",
                   "responses", "responses_wanted", "not_judged", "seconds"},
                  {},
                  {}};
  table.is_number.assign(table.titles.size(), true);
  for (const CellSummary& cell : cells) {
    table.rows.push_back({cell.cell.name(), cell.cell.task, std::to_string(cell.cell.length), cell.cell.schedule,
                          exact(cell.accuracy), exact(cell.standard_error), exact(cell.interval.low),
                          exact(cell.interval.high), exact(cell.value), exact(cell.tokens_per_second),
                          exact(cell.forwards), exact(cell.tokens), exact(cell.truncated), std::to_string(cell.items),
                          std::to_string(cell.answered), std::to_string(cell.wanted), std::to_string(cell.unjudged),
                          exact(cell.seconds)});
  }
  return table;
}

}  // namespace drift
