#include <core/cli/command.h>
#include <core/cli/printing.h>
#include <core/eval/record_diff.h>

#include <algorithm>

namespace drift {
namespace {

struct EvalDiffOptions {
  std::filesystem::path before, after;
  bool json = false;
};

constexpr std::size_t kChangesShown = 20;
constexpr std::size_t kReasonWidth = 60;

Json json_of(const ItemVerdict& verdict) {
  return {{"solved", verdict.solved}, {"status", verdict.status}, {"reason", verdict.reason}};
}

Json json_of(const Comparison& comparison) {
  Json cells = Json::array();
  for (const CellComparison& cell : comparison.cells) {
    Json changes = Json::array();
    for (const ItemChange& change : cell.changes)
      changes.push_back({{"id", change.id}, {"before", json_of(change.before)}, {"after", json_of(change.after)}});
    cells.push_back({{"cell", cell.cell},
                     {"items", cell.items},
                     {"not_judged", cell.unjudged},
                     {"before", cell.before},
                     {"after", cell.after},
                     {"difference", cell.difference},
                     {"standard_error", cell.standard_error},
                     {"better", cell.better},
                     {"worse", cell.worse},
                     {"p", cell.p},
                     {"test", cell.test},
                     {"other_responses", cell.other_responses},
                     {"changes", std::move(changes)}});
  }
  return {{"cells", std::move(cells)}, {"only_before", comparison.only_before}, {"only_after", comparison.only_after}};
}

std::string signed_percent(double share) { return (share > 0 ? "+" : "") + format_percent(share); }

TextTable table_of(const Comparison& comparison) {
  TextTable table{{"cell", "items", "before %", "after %", "difference", "better", "worse", "p", "test"},
                  {false, true, true, true, true, true, true, true, false},
                  {}};
  for (const CellComparison& cell : comparison.cells) {
    table.rows.push_back({cell.cell, format_integer(cell.items), format_percent(cell.before),
                          format_percent(cell.after),
                          signed_percent(cell.difference) + " ± " + format_percent(cell.standard_error),
                          format_integer(cell.better), format_integer(cell.worse), format_p(cell.p), cell.test});
  }
  return table;
}

/// "solved", "wrong"; with several samples "0.25 solved".
std::string verdict_text(const ItemVerdict& verdict) {
  if (verdict.solved == 1) return "solved";
  const std::string reason = display_width(verdict.reason) > static_cast<int>(kReasonWidth)
                                 ? truncate_to_width(verdict.reason, static_cast<int>(kReasonWidth)) + "..."
                                 : verdict.reason;
  const std::string status = verdict.solved == 0 ? verdict.status : format_decimal(verdict.solved, 2) + " solved";
  return status + (reason.empty() ? "" : " (" + reason + ")");
}

void print_changes(const CellComparison& cell) {
  if (cell.changes.empty()) return;
  std::cout << "\n" << printable(cell.cell) << ": " << cell.changes.size() << " items changed\n";
  for (std::size_t i = 0; i < std::min(kChangesShown, cell.changes.size()); ++i) {
    const ItemChange& change = cell.changes[i];
    std::cout << "  "
              << on_one_line(change.id + "  " + verdict_text(change.before) + " -> " + verdict_text(change.after))
              << "\n";
  }
  if (cell.changes.size() > kChangesShown)
    std::cout << "  … and " << cell.changes.size() - kChangesShown << " more; --json lists all\n";
}

int compare(const EvalDiffOptions& options) {
  const Comparison comparison = compare_evaluations(options.before, options.after);
  if (options.json) {
    std::cout << json_text(json_of(comparison), 1) << "\n";
    return 0;
  }
  std::cout << "before  " << printable(options.before.string()) << "\nafter   " << printable(options.after.string())
            << "\n\n"
            << to_text(table_of(comparison), detect_terminal(1).unicode);
  for (const CellComparison& cell : comparison.cells) print_changes(cell);
  for (const CellComparison& cell : comparison.cells) {
    if (cell.unjudged > 0)
      std::cout << printable(cell.cell) << ": " << cell.unjudged
                << " items left out, because a response was not judged\n";
  }
  if (!comparison.only_before.empty())
    std::cout << "only before: " << printable(joined(comparison.only_before)) << "\n";
  if (!comparison.only_after.empty()) std::cout << "only after: " << printable(joined(comparison.only_after)) << "\n";
  return 0;
}

}  // namespace

Command eval_diff_command() {
  return make_command<EvalDiffOptions>(
      {"eval diff", "which items changed between two evaluations",
       "RESULTS is the --out folder of an evaluation, or one file of responses in it. For every cell in both, prints\n"
       "the two accuracies, their difference with a paired test, and the items that only one side solves.",
       "eval runs/quickstart/checkpoints/step-000050 --out runs/eval/step-50\n"
       "eval runs/quickstart/checkpoints/step-000060 --out runs/eval/step-60\n"
       "eval diff runs/eval/step-50 runs/eval/step-60"},
      compare, [](OptionList& list, EvalDiffOptions& options) {
        list.argument("RESULTS", options.before);
        list.argument("RESULTS", options.after);
        list.add_switch("json", "print JSON instead of text, with all items that changed", options.json);
      });
}

}  // namespace drift
