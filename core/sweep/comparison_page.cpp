#include <core/sweep/comparison_page.h>

#include <core/io/atomic.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/sweep/comparison_tables.h>
#include <core/sweep/figures.h>
#include <core/sweep/sweep_table.h>

#include <drift/error.h>

#include <cmath>

namespace drift {
namespace {

namespace fs = std::filesystem;

/// The figures with links to their files.
std::string figures_html(const std::vector<Figure>& figures) {
  std::string html;
  for (const Figure& figure : figures) {
    const std::string chart = svg_chart(figure.chart), name = escape_html(figure.name), end = "</figure>\n";
    html += chart.substr(0, chart.size() - end.size()) + "<p class=\"files\"><a href=\"" + name +
            ".svg\">SVG</a> <a href=\"" + name + ".csv\">CSV</a></p>" + end;
  }
  return html;
}

std::string table_html(const TextTable& table, const std::string& name) {
  if (table.rows.empty()) return {};
  return "<div class=\"card wide\">" + to_html(table) + "<p class=\"files\"><a href=\"" + name +
         ".tex\">LaTeX</a> <a href=\"" + name + ".csv\">CSV</a></p></div>";
}

std::string notes_html(const std::vector<std::string>& notes) {
  std::string html;
  for (const std::string& note : notes) html += "<p>" + escape_html(note) + "</p>";
  return "<div class=\"lead notes\">" + html + "</div>";
}

std::string run_html(const RunLine& line, const ComparedRun& run, const SweepMeasure& measure, const fs::path& folder) {
  const auto number = [](const std::string& text) { return "<td class=\"number\">" + text + "</td>"; };
  const std::string status = status_name(run.record.status);
  const std::string path = escape_html(run.folder.string());
  const fs::path report = run.folder / "report.html";
  // As it leads there from the page.
  const std::string link = fs::relative(fs::absolute(report), fs::absolute(folder)).generic_string();
  return "<tr><td>" + escape_html(line.label) + "</td>" + number(std::to_string(run.seed)) + "<td>" +
         escape_html(run.record.problem.empty() ? status : status + ": " + run.record.problem) + "</td>" +
         number(std::to_string(run.record.step)) + number(format_decimal(measure.of(run.record), measure.digits)) +
         "<td>" + (fs::exists(report) ? "<a href=\"" + escape_html(link) + "\">" + path + "</a>" : path) + "</td></tr>";
}

std::string runs_html(const std::vector<RunLine>& lines, const SweepMeasure& measure, const fs::path& folder) {
  std::string html =
      "<table><tr><th>line</th><th class=\"number\">seed</th><th>status</th><th class=\"number\">step</th>"
      "<th class=\"number\">" +
      escape_html(measure.title()) + "</th><th>folder</th></tr>";
  for (const RunLine& line : lines) {
    for (const ComparedRun& run : line.runs) html += run_html(line, run, measure, folder);
  }
  return html + "</table>";
}

std::string subtitle(const RunComparison& comparison) {
  std::size_t runs = 0;
  for (const RunLine& line : comparison.lines) runs += line.runs.size();
  return count_of(comparison.lines.size(), "line") + " of " + count_of(runs, "run") +
         "; runs of a line differ in the seed";
}

std::string page(const RunComparison& comparison, const std::vector<Figure>& steps, const std::vector<Figure>& costs,
                 const fs::path& folder) {
  const std::string band = "mean over the seeds; band: " + band_text(comparison.band);
  const TextTable differences = difference_table(comparison);
  return html_page(
      "Comparison of " + std::string(comparison.measure.name), subtitle(comparison),
      table_html(line_table(comparison), "results") +
          (differences.rows.empty()
               ? ""
               : html_section("Differences to " + comparison.baseline(), table_html(differences, "differences"))) +
          notes_html(comparison_notes(comparison)) +
          html_section("What it takes", figures_html(costs), "charts", band + "; evaluations cost nothing here") +
          html_section("Curves", figures_html(steps), "charts", band + "; noisy measures: moving mean of every run") +
          html_section("Runs", runs_html(comparison.lines, comparison.measure, folder), "wide"),
      ".files { font-size: 0.75rem; margin: 0.4rem 0 0; }\n");
}

void write_table(const fs::path& folder, const std::string& name, const TextTable& shown, const TextTable& numbers) {
  write_file_atomically(folder / (name + ".tex"), to_latex(shown));
  write_file_atomically(folder / (name + ".csv"), to_csv(numbers));
}

}  // namespace

std::string sweep_report(const SweepResults& results, const fs::path& folder) {
  const SweepPlan& plan = *results.plan;
  std::string body =
      "<div class=\"card wide\">" + to_html(result_table(results)) + "</div>" + notes_html(result_notes(results));
  if (const TextTable settings = settings_table(results); !settings.rows.empty())
    body += html_section("Settings that differ", to_html(settings), "wide", "from the baseline; presets' included");
  for (const std::vector<std::size_t>& rows : groups_of(results.rows)) {
    std::vector<RunLine> lines;
    for (const std::size_t row : rows) lines.push_back(results.rows[row].line);
    std::string charts;
    for (const Figure& figure : step_figures(lines, Band::kError)) charts += svg_chart(figure.chart);
    const std::string& group = results.rows[rows.front()].group;
    body += html_section(group.empty() ? "Curves" : group, charts, "charts",
                         "mean over the seeds; band: " + band_text(Band::kError) + "; noisy measures: moving mean");
  }
  std::vector<RunLine> cells;
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell)
    cells.emplace_back(results.rows[cell].line).label = plan.cells[cell].label;
  body += html_section("Runs", runs_html(cells, plan.file.measure, folder), "wide");
  return html_page(plan.file.name, count_of(plan.cells.size(), "cell") + ", " + count_of(plan.runs.size(), "run"),
                   body);
}

void write_comparison(const RunComparison& comparison, const fs::path& folder) {
  if (fs::exists(folder / "config.toml"))
    throw Error(folder.string() + " is the folder of a run", "choose another one with --out");
  std::error_code failed;
  fs::create_directories(folder, failed);
  const std::vector<Figure> steps = step_figures(comparison.lines, comparison.band),
                            costs = cost_figures(comparison.lines, comparison.band);
  for (const auto* figures : {&steps, &costs}) {
    for (const Figure& figure : *figures) {
      Chart chart = figure.chart;
      chart.note = "mean over the seeds; band: " + band_text(comparison.band);
      write_file_atomically(folder / (figure.name + ".svg"), svg_file(chart));
      write_file_atomically(folder / (figure.name + ".csv"), to_csv(figure.data));
    }
  }
  write_table(folder, "results", line_table(comparison), line_numbers(comparison));
  if (const TextTable differences = difference_table(comparison); !differences.rows.empty())
    write_table(folder, "differences", differences, difference_numbers(comparison));
  write_file_atomically(folder / "runs.csv", to_csv(compared_runs(comparison)));
  write_file_atomically(folder / "index.html", page(comparison, steps, costs, folder));
}

}  // namespace drift
