// The descriptions of metrics name exactly what is written.

#include "tests/support/support.h"

#include <core/eval/cell_summary.h>
#include <core/eval/response_record.h>
#include <core/record/metric_docs.h>
#include <core/record/step_record.h>
#include <core/report/metric_reference.h>
#include <core/sweep/comparison_tables.h>
#include <core/sweep/figures.h>
#include <core/sweep/sweep_table.h>

namespace drift::metric_docs_test {

using namespace testing;

std::vector<std::string> documented(const std::string& file) {
  const auto found = std::ranges::find(record_docs(), file, &RecordDoc::file);
  std::vector<std::string> names;
  for (const MetricDoc& metric : found->metrics) names.emplace_back(metric.name);
  return names;
}

/// The keys of an object, those of objects in it behind a point.
std::set<std::string> keys_of(const std::string& line) {
  std::set<std::string> keys;
  const auto object = nlohmann::json::parse(line);
  for (const auto& [key, value] : object.items()) {
    if (!value.is_object()) keys.insert(key);
    for (const auto& [inner, ignored] : value.items()) {
      if (value.is_object()) keys.insert(key + "." + inner);
    }
  }
  return keys;
}

TEST(MetricDocs, NameEveryKeyOfAStep) {
  StepRecord step;
  step.reward_parts = {{"LABEL", 1}};
  step.loss_metrics = {{"NAME", 1}, {"ratio", 1}, {"clip_fraction", 0}, {"kl", 0}};
  step.plugin_metrics = {{"COMPONENT/NAME", 2}, {"rank_idle/RANK", 0}};
  step.token_surprisal = step.same_responses = 0;
  step.rollout_gap = step.rollout_gap_max = step.rollout_weight = step.rollout_capped = 0;  // left out if unknown
  step.value_loss = step.value_explained_variance = 0;
  step.rank_idle = step.rank_idle_max = 0;
  step.seconds.emplace().value = 0;
  step.held_out.emplace().validation = 0;
  EXPECT_THAT(documented("metrics.jsonl"), UnorderedElementsAreArray(keys_of(to_json_line(step))));
}

TEST(MetricDocs, NameEveryKeyOfAResponse) {
  std::set<std::string> keys = keys_of(to_json_line(ResponseRecord()));
  keys.insert({"rewards.LABEL", "trajectory"});
  EXPECT_THAT(documented("responses/CELL.jsonl"), UnorderedElementsAreArray(keys));
  Judgement judgement;
  judgement.parts.resize(2);
  ResponseRecord record;
  set_judgement(record, judgement, {"LABEL", "other"});
  EXPECT_THAT(keys_of(to_json_line(record)), testing::Contains("rewards.LABEL"));
  record.trajectory.emplace();
  EXPECT_NE(to_json_line(record).find("\"trajectory\":{"), std::string::npos);
}

TEST(MetricDocs, NameEveryColumnOfTheTablesOfNumbersAndOfASweep) {
  EXPECT_EQ(documented("cells.csv"), summary_numbers({}).titles);
  const SweepPlan plan;
  SweepResults results;
  results.plan = &plan;
  auto columns = run_numbers(results, "runs").titles;
  columns.erase(columns.begin());  // instead of axes
  EXPECT_EQ(documented("runs.csv"), columns);
  columns = result_numbers(results).titles;
  columns.erase(columns.begin());
  for (std::string& column : columns) {
    const std::string measure = "held_out_accuracy_percent";
    if (column.starts_with(measure)) column.replace(0, measure.size(), "MEASURE");
  }
  EXPECT_EQ(documented("table.csv"), columns);
}

TEST(MetricDocs, NameEveryColumnOfAComparison) {
  StepRecord step;
  step.loss = 1;
  ComparedRun run;
  run.record.metrics = {step};
  run.costs = {{}};
  const std::vector<RunLine> lines = {{"line", {run}}};
  EXPECT_EQ(documented("results.csv"), line_numbers({lines}).titles);
  EXPECT_EQ(documented("differences.csv"), difference_numbers({lines}).titles);
  EXPECT_EQ(documented("FIGURE.csv"), step_figures(lines, Band::kError).front().data.titles);
}

TEST(MetricDocs, SayOfEachNameInWhichFileItIs) {
  const std::string text = metric_text("tokens_per_second");
  EXPECT_THAT(text, HasSubstr("tokens_per_second: response tokens per second of rollout"));
  EXPECT_THAT(text, HasSubstr("  in     metrics.jsonl of a run\n"));
  EXPECT_THAT(text, HasSubstr("  in     cells.csv of an evaluation\n"));
  EXPECT_THAT(text, HasSubstr("  unit   tokens/s\n"));
  EXPECT_THAT(metric_text("tokens_per_minute"), IsEmpty());
  EXPECT_THAT(metric_names(), testing::Contains("loss/kl"));
}

}  // namespace drift::metric_docs_test
