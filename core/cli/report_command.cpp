#include <core/cli/command.h>
#include <core/io/run_folder.h>
#include <core/report/html_report.h>

#include <drift/error.h>

#include <iostream>

namespace drift {
namespace {

int report(const std::filesystem::path& run) {
  if (!RunFolder::has_begun(run))
    throw Error("no run has begun in " + run.string(), "name a run's folder, such as runs/quickstart");
  write_report(run);
  std::cout << (run / "report.html").string() << "\n";
  return 0;
}

}  // namespace

Command report_command() {
  return make_command<std::filesystem::path>(
      {"report", "the page of a run, made again",
       "Writes RUN/report.html from the run's metrics, summary and samples, also while it trains and after a failure.",
       "report runs/quickstart"},
      report, [](OptionList& list, std::filesystem::path& run) { list.argument("RUN", run); });
}

}  // namespace drift
