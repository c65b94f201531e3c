#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/io/run_folder.h>
#include <core/report/html_report.h>
#include <core/report/json_table.h>
#include <core/sweep/comparison_page.h>
#include <core/sweep/comparison_tables.h>

#include <drift/error.h>

namespace drift {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  fs::path out;
  std::string baseline, measure, band;
  bool json = false;

  /// Whether it is about one run alone.
  bool is_page_of_run() const {
    return runs.size() == 1 && out.empty() && baseline.empty() && measure.empty() && band.empty() && !json &&
           (RunFolder::has_begun(runs.front()) || fs::exists(fs::path(runs.front()) / "config.toml"));
  }
};

int write_page_of_run(const fs::path& run) {
  if (!RunFolder::has_begun(run))
    throw Error("no run has begun in " + run.string(), "name a run's folder, such as runs/quickstart");
  write_report(run, recorded_settings(run / "config.toml").limits);
  std::cout << printable((run / "report.html").string()) << "\n";
  return 0;
}

std::string json_of(const RunComparison& comparison, const fs::path& folder) {
  Json json;
  json["folder"] = folder.string();
  json["measure"] = comparison.measure.key;
  json["baseline"] = comparison.baseline();
  json["results"] = to_json(line_numbers(comparison));
  json["differences"] = to_json(difference_numbers(comparison));
  json["runs"] = to_json(compared_runs(comparison));
  return json_text(json, 1) + "\n";
}

void print(const RunComparison& comparison, const fs::path& folder) {
  const bool unicode = detect_terminal(1).unicode;
  std::string text = to_text(line_table(comparison), unicode) + "\n";
  if (const TextTable differences = difference_table(comparison); !differences.rows.empty())
    text += to_text(differences, unicode) + "\n";
  for (const std::string& note : comparison_notes(comparison)) text += note + "\n";
  std::cout << printable(text) << "\n" << printable((folder / "index.html").string()) << "\n";
}

/// runs/comparison, or the first of runs/comparison-2, … that is free: earlier comparisons stay.
fs::path fresh_folder() {
  fs::create_directories("runs");
  fs::path folder = "runs/comparison";
  for (int number = 2; !fs::create_directory(folder); ++number) folder = "runs/comparison-" + std::to_string(number);
  return folder;
}

int report(const ReportOptions& options) {
  if (options.is_page_of_run()) return write_page_of_run(options.runs.front());
  const Band band = options.band == "interval" ? Band::kInterval : Band::kError;
  const RunComparison comparison = compare_lines(run_lines(options.runs), {options.baseline, options.measure, band});
  const fs::path folder = options.out.empty() ? fresh_folder() : options.out;
  write_comparison(comparison, folder);
  if (options.json) {
    std::cout << json_of(comparison, folder);
  } else {
    print(comparison, folder);
  }
  return 0;
}

}  // namespace

Command report_command() {
  return make_command<ReportOptions>(
      {"report", "the page of a run, made again; the comparison of several",
       "One run: writes RUN/report.html from its metrics, summary and samples, also while it trains and after a\n"
       "failure. Several, or the folder of a sweep: compares them. Runs that differ in nothing but the seed are\n"
       "one line, drawn as their mean with a band. Differences to the first line, or to a sweep's baseline, are\n"
       "tested seed by seed: a paired t-test, with Holm's correction for the number of lines. NAME=RUN calls a\n"
       "line NAME. The folder that is written has a page, every figure as SVG with its data as CSV, and every\n"
       "table as LaTeX and CSV (docs/runs.md).",
       "report runs/quickstart\n"
       "report runs/quick --out runs/quick-comparison --measure held_out"},
      report, [](OptionList& list, ReportOptions& options) {
        list.repeated_argument("RUN", options.runs);
        list.add(
            "out", "DIR",
            "folder of the comparison; default: runs/comparison, or the first of runs/comparison-2, … that is free",
            options.out);
        list.add("baseline", "LINE",
                 "the line that the others are compared with; default: a sweep's own, else the first",
                 options.baseline);
        list.add("measure", "NAME",
                 "what is compared: held_out, reward or solved; default: the first that the runs have",
                 options.measure);
        list.add("band", "NAME",
                 "around a mean over seeds: error, its standard error, or interval, Student's 95 % interval of it; "
                 "default: error",
                 options.band)
            .choices = {"error", "interval"};
        list.add_switch("json", "print the comparison's numbers as JSON", options.json);
      });
}

}  // namespace drift
