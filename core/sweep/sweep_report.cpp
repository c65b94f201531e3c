#include <core/sweep/sweep_report.h>

#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/html_page.h>
#include <core/report/svg_chart.h>
#include <core/sweep/sweep_table.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace drift {
namespace {

using ValueOf = std::function<double(const StepRecord&)>;
using ByStep = std::map<std::int64_t, std::vector<double>>;

ValueOf named(const char* name) {
  return [name](const StepRecord& step) { return step.value(name); };
}

double held_out(const StepRecord& step) { return step.held_out ? 100 * step.held_out->accuracy : kUnknown; }

/// The curves of the cells that share pictures.
class GroupCurves {
 public:
  GroupCurves(const SweepResults& results, const std::vector<std::size_t>& rows) : results_(results), rows_(rows) {}

  std::string html() {
    add({.title = "Held-out accuracy", .unit = "%", .points = true}, held_out);
    add({.title = "Reward", .unit = "of the training responses", .minimum = 0, .maximum = 1, .noisy = true},
        named("reward"));
    if (solved_differs())
      add({.title = "Solved", .unit = "share of the training responses", .minimum = 0, .maximum = 1, .noisy = true},
          named("solved"));
    add({.title = "Loss", .noisy = true}, named("loss"));
    add({.title = "KL to the reference", .unit = "nats", .minimum = 0, .noisy = true}, named("loss/kl"));
    add({.title = "Gradient norm", .unit = "before clipping", .minimum = 0, .noisy = true}, named("grad_norm"));
    add({.title = "Token utility", .unit = "share of tokens scored", .minimum = 0, .noisy = true},
        named("loss/token_utility"));
    add({.title = "Rollout forwards", .unit = "a response", .minimum = 0, .noisy = true},
        named("forwards_per_response"));
    add({.title = "Update forwards", .unit = "a response", .minimum = 0, .noisy = true},
        named("update_forwards_per_response"));
    add({.title = "Update backwards", .unit = "a response", .minimum = 0, .noisy = true},
        named("update_backwards_per_response"));
    add({.title = "Response length", .unit = "tokens", .minimum = 0, .noisy = true}, named("response_length"));
    add({.title = "Time", .unit = "seconds per step", .minimum = 0, .noisy = true},
        [](const StepRecord& step) { return step.seconds ? step.seconds->total : kUnknown; });
    return html_;
  }

 private:
  const RunRecord& record(const SeedRun& seed) const { return results_.records[seed.run]; }

  ByStep values_of(std::size_t row, const ValueOf& value) const {
    ByStep values;
    for (const SeedRun& seed : results_.plan->seeds[row]) {
      for (const StepRecord& step : record(seed).metrics) {
        if (const double known = value(step); std::isfinite(known)) values[step.step].push_back(known);
      }
    }
    return values;
  }

  void add(Chart chart, const ValueOf& value) {
    std::vector<ByStep> lines;
    ByStep steps;
    for (const std::size_t row : rows_) {
      lines.push_back(values_of(row, value));
      for (const auto& [step, values] : lines.back()) steps[step];
    }
    for (const auto& [step, none] : steps) chart.x.push_back(static_cast<double>(step));
    for (std::size_t line = 0; line < rows_.size(); ++line) {
      chart.series.push_back(series(results_.rows[rows_[line]].line, lines[line], steps));
      chart.series.back().colour = line;  // the same in every picture
    }
    html_ += chart.x.empty() ? "" : svg_chart(chart);
  }

  static Series series(const std::string& name, const ByStep& line, const ByStep& steps) {
    Series series{.name = name};
    for (const auto& [step, none] : steps) {
      const auto found = line.find(step);
      const bool known = found != line.end();
      series.y.push_back(known ? estimate(found->second).mean : kUnknown);
      series.low.push_back(known ? std::ranges::min(found->second) : kUnknown);
      series.high.push_back(known ? std::ranges::max(found->second) : kUnknown);
    }
    return series;
  }

  /// Where the reward is right or wrong, its mean is the share of solved responses.
  bool solved_differs() const {
    for (const std::size_t row : rows_) {
      for (const SeedRun& seed : results_.plan->seeds[row]) {
        for (const StepRecord& step : record(seed).metrics) {
          if (std::isfinite(step.value("solved")) && step.value("solved") != step.value("reward")) return true;
        }
      }
    }
    return false;
  }

  const SweepResults& results_;
  const std::vector<std::size_t>& rows_;
  std::string html_;
};

std::string notes_html(const SweepResults& results) {
  std::string html;
  for (const std::string& note : result_notes(results)) html += "<p>" + escape_html(note) + "</p>";
  return "<div class=\"lead notes\">" + html + "</div>";
}

std::string status_html(const RunRecord& record) {
  const std::string name = status_name(record.status);
  const std::string text = record.problem.empty() ? name : name + ": " + record.problem;
  const char* look = record.status == RunStatus::kFinished ? "solved"
                     : record.status == RunStatus::kFailed ? "failed"
                                                           : "";
  return "<td class=\"" + std::string(look) + "\">" + escape_html(text) + "</td>";
}

std::string run_row(const SweepResults& results, std::size_t cell, const SeedRun& seed) {
  const RunRecord& record = results.records[seed.run];
  const SweepRun& run = results.plan->runs[seed.run];
  const SweepMeasure& measure = results.plan->file.measure;
  const auto number = [](const std::string& text) { return "<td class=\"number\">" + text + "</td>"; };
  std::string html =
      "<tr><td>" + escape_html(results.plan->cells[cell].label) + "</td>" + number(std::to_string(seed.seed)) +
      status_html(record) + number(std::to_string(record.step) + "/" + std::to_string(run.steps)) +
      number(format_decimal(measure.of(record), measure.digits)) + number(format_duration(record.seconds));
  const std::string folder = "runs/" + run.key;
  html += record.status == RunStatus::kFinished
              ? "<td><a href=\"" + folder + "/report.html\">" + folder + "</a></td></tr>"
              : "<td>" + folder + "</td></tr>";
  return html;
}

std::string runs_html(const SweepResults& results) {
  const SweepMeasure& measure = results.plan->file.measure;
  std::string html =
      "<table><tr><th>cell</th><th class=\"number\">seed</th><th>status</th><th class=\"number\">step</th>"
      "<th class=\"number\">" +
      escape_html(std::string(measure.name) + " " + measure.unit) +
      "</th><th class=\"number\">time</th><th>folder</th></tr>";
  for (std::size_t cell = 0; cell < results.rows.size(); ++cell) {
    for (const SeedRun& seed : results.plan->seeds[cell]) html += run_row(results, cell, seed);
  }
  return html + "</table>";
}

std::string subtitle(const SweepResults& results) {
  const auto finished = std::ranges::count_if(
      results.records, [](const RunRecord& record) { return record.status == RunStatus::kFinished; });
  return std::to_string(finished) + " of " + std::to_string(results.records.size()) + " runs in " +
         std::to_string(results.rows.size()) + (results.rows.size() == 1 ? " cell" : " cells");
}

}  // namespace

std::string sweep_report(const SweepResults& results) {
  std::string body = "<div class=\"card wide\">" + to_html(result_table(results)) + "</div>" + notes_html(results);
  for (const std::vector<std::size_t>& rows : groups_of(results.rows)) {
    const std::string group = results.rows[rows.front()].group;
    body += html_section(group.empty() ? "Curves" : group, GroupCurves(results, rows).html(), "charts",
                         "mean over the seeds; band: lowest to highest seed; noisy measures as a moving mean");
  }
  body += html_section("Runs", runs_html(results), "wide");
  return html_page(results.plan->file.name, subtitle(results), body);
}

}  // namespace drift
