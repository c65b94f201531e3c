#include <core/eval/cell_summary.h>

#include <core/record/estimate.h>
#include <core/report/column_table.h>

#include <drift/answers.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

namespace drift {
namespace {

/// What the judged responses to an item come to.
struct ItemShare {
  double solved = 0, value = 0, judged = 0;
  std::map<std::string, std::int64_t> wrong;  ///< answers that are not solved, and how often each was given
};

/// The last box or answer block of a response; the whole of one that has neither.
std::string answer_of(std::string_view response) {
  const MarkedAnswer box = last_box(response), block = last_answer_block(response);
  std::string_view answer = box.content ? *box.content : block.content.value_or(response);
  const auto begin = answer.find_first_not_of(" \t\r\n");
  if (begin == answer.npos) return {};
  answer.remove_prefix(begin);
  return std::string(answer.substr(0, answer.find_last_not_of(" \t\r\n") + 1));
}

/// All solved responses give the same answer, so that theirs wins if no other was given more often.
bool solved_by_majority(const ItemShare& item) {
  return item.solved > 0 && std::ranges::all_of(item.wrong, [&](const auto& answer) {
           return static_cast<double>(answer.second) <= item.solved;
         });
}

std::string pair(double first, const char* between, double second) {
  return std::isnan(first) ? "-" : format_percent(first) + between + format_percent(second);
}

std::string items_text(const CellSummary& cell) {
  const std::string items = cell.answered < cell.wanted
                                ? format_integer(cell.answered) + " of " + format_integer(cell.wanted) + " responses"
                                : format_integer(cell.items);
  return items + (cell.unjudged > 0 ? ", " + format_integer(cell.unjudged) + " not judged" : "");
}

}  // namespace

std::string result_line(const CellSummary& summary, bool unicode) {
  return format_percent(summary.accuracy) + " % " + (unicode ? "±" : "+-") + " " +
         format_percent(summary.standard_error) + "  " + format_integer(summary.items) + " items  " +
         format_duration(summary.seconds);
}

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
    if (!record.solved) ++item.wrong[answer_of(record.response)];
    summary.samples = std::max(summary.samples, record.sample + 1);
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
  double solved = 0, value = 0, passed = 0, by_majority = 0;
  for (const auto& [id, item] : items) {
    passed += item.solved > 0 ? 1 : 0;
    by_majority += solved_by_majority(item) ? 1 : 0;
    shares.push_back(item.solved / item.judged);
    solved += shares.back();
    value += item.value / item.judged;
    several = several || item.judged > 1;
  }
  const auto count = static_cast<double>(items.size());
  summary.accuracy = solved / count;
  summary.pass = passed / count;
  summary.majority = by_majority / count;
  summary.value = value / count;
  summary.standard_error =
      several ? estimate(shares).error : std::sqrt(summary.accuracy * (1 - summary.accuracy) / count);
  summary.interval = wilson_interval(summary.accuracy, count);
  return summary;
}

TextTable summary_table(const std::vector<CellSummary>& cells) {
  ColumnTable table(cells);
  table.text("cell", [](const CellSummary& cell) { return cell.cell.name(); });
  table.number("accuracy %", [](const CellSummary& cell) { return pair(cell.accuracy, " ± ", cell.standard_error); });
  table.number("95 % interval",
               [](const CellSummary& cell) { return pair(cell.interval.low, " to ", cell.interval.high); });
  if (std::ranges::any_of(cells, [](const CellSummary& cell) { return cell.samples > 1; })) {
    table.number("k", [](const CellSummary& cell) { return format_integer(cell.samples); });
    table.number("pass@k %", [](const CellSummary& cell) { return format_percent(cell.pass); });
    table.number("maj@k %", [](const CellSummary& cell) { return format_percent(cell.majority); });
  }
  table.number("tokens/s", [](const CellSummary& cell) { return format_count(cell.tokens_per_second); });
  table.number("forwards", [](const CellSummary& cell) { return format_decimal(cell.forwards, 1); });
  table.number("tokens", [](const CellSummary& cell) { return format_decimal(cell.tokens, 1); });
  table.number("cut off %", [](const CellSummary& cell) { return format_percent(cell.truncated); });
  table.number("items", items_text);
  table.number("time", [](const CellSummary& cell) {
    return cell.seconds >= 60 ? format_duration(cell.seconds) : format_seconds(cell.seconds);
  });
  return table.table();
}

TextTable summary_numbers(const std::vector<CellSummary>& cells) {
  ColumnTable table(cells);
  table.text("cell", [](const CellSummary& cell) { return cell.cell.name(); });
  table.text("task", [](const CellSummary& cell) { return cell.cell.task; });
  table.number("length", [](const CellSummary& cell) { return cell.cell.length; });
  table.text("schedule", [](const CellSummary& cell) { return cell.cell.schedule; });
  table.number("accuracy", &CellSummary::accuracy).number("standard_error", &CellSummary::standard_error);
  table.number("low_95", [](const CellSummary& cell) { return cell.interval.low; });
  table.number("high_95", [](const CellSummary& cell) { return cell.interval.high; });
  table.number("samples", &CellSummary::samples).number("pass_at_k", &CellSummary::pass);
  table.number("majority_at_k", &CellSummary::majority);
  table.number("reward", &CellSummary::value).number("tokens_per_second", &CellSummary::tokens_per_second);
  table.number("forwards_per_response", &CellSummary::forwards).number("tokens_per_response", &CellSummary::tokens);
  table.number("truncated", &CellSummary::truncated).number("items", &CellSummary::items);
  table.number("responses", &CellSummary::answered).number("responses_wanted", &CellSummary::wanted);
  table.number("not_judged", &CellSummary::unjudged).number("seconds", &CellSummary::seconds);
  return table.table();
}

}  // namespace drift
