#include <core/report/metric_reference.h>

#include <core/record/metric_docs.h>
#include <core/report/parameter_table.h>
#include <core/report/text_table.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string text_of(const MetricDoc& metric, const RecordDoc& record) {
  std::vector<std::vector<std::string>> rows = {
      {"in", std::string(record.file) + " of " + record.of}, {"unit", metric.unit}, {"range", metric.range}};
  std::erase_if(rows, [](const std::vector<std::string>& row) { return row.back().empty(); });
  return std::string(metric.name) + ": " + metric.meaning + "\n" + to_text({.rows = rows}, /*unicode=*/true, "  ");
}

}  // namespace

std::string metric_text(std::string_view name) {
  std::string text;
  for (const RecordDoc& record : record_docs()) {
    for (const MetricDoc& metric : record.metrics) {
      if (metric.name == name) text += (text.empty() ? "" : "\n") + text_of(metric, record);
    }
  }
  return text;
}

nlohmann::ordered_json metric_json(std::string_view name) {
  auto list = nlohmann::ordered_json::array();
  for (const RecordDoc& record : record_docs()) {
    for (const auto& [metric, unit, range, meaning] : record.metrics) {
      if (metric == name)
        list.push_back(
            {{"in", record.file}, {"of", record.of}, {"unit", unit}, {"range", range}, {"meaning", meaning}});
    }
  }
  return list;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const RecordDoc& record : record_docs()) {
    for (const MetricDoc& metric : record.metrics) names.emplace_back(metric.name);
  }
  return names;
}

std::string metrics_page() {
  std::string text =
      "# Metrics\n\n"
      "What a run and an evaluation write down: every number, its unit, range and meaning. A point in a name leads "
      "into "
      "an\n"
      "object: `seconds.update` is `update` of the object `seconds`; `reward.LABEL` alone has the point in its own "
      "name. "
      "Words\n"
      "in capitals stand for names. Numbers that are not known are null in JSON and empty in CSV. `drift help NAME` "
      "explains\n"
      "one of them.\n";
  for (const RecordDoc& record : record_docs()) {
    TextTable table{{"name", "unit", "range", "meaning"}};
    for (const MetricDoc& metric : record.metrics)
      table.rows.push_back({code(metric.name), metric.unit, code(metric.range), markdown_text(metric.meaning)});
    text += "\n## " + std::string(record.file) + " of " + record.of + "\n\n" + record.contents + ".\n\n" +
            to_markdown(table);
  }
  return text;
}

}  // namespace drift
