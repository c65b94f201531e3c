#include <core/eval/suite_tables.h>

#include <core/io/atomic.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace drift {
namespace {

constexpr const char* kDifference = "Δ vs. Base";
constexpr const char* kStandardError = "± standard error";

struct Row {
  std::string name;
  std::vector<std::string> cells;              ///< empty where there is no figure
  std::vector<std::optional<double>> compete;  ///< per cent, of those that may be the best
};

const CellSummary* find_summary(const SuiteResults& results, const EvaluationCell& cell) {
  const std::string name = cell.name();
  const auto found = std::ranges::find_if(results.cells, [&](const CellSummary& s) { return s.cell.name() == name; });
  return found == results.cells.end() ? nullptr : &*found;
}

std::string signed_text(double value) {
  const std::string text = format_decimal(value, 1);
  return text.starts_with('-') ? text : "+" + text;
}

std::vector<std::string> methods_of(const SuiteResults& results, const std::vector<EvaluationCell>& columns) {
  std::vector<std::string> methods;
  for (const PublishedFigure& figure : results.published) {
    const bool shown =
        figure.role != PublishedRole::kDifference &&
        std::ranges::any_of(columns, [&](const EvaluationCell& cell) { return cell.name() == figure.cell.name(); });
    if (shown && std::ranges::count(methods, figure.method) == 0) methods.push_back(figure.method);
  }
  return methods;
}

Row method_row(const SuiteResults& results, const std::string& method, const std::vector<EvaluationCell>& columns) {
  Row row{method, {}, {}};
  for (const EvaluationCell& cell : columns) {
    const PublishedFigure* figure = find_figure(results.published, method, cell);
    row.cells.push_back(figure == nullptr ? "" : format_decimal(figure->value, 1));
    row.compete.push_back(figure == nullptr ? std::nullopt : std::optional(figure->value));
  }
  return row;
}

Row difference_row(const SuiteResults& results, const std::vector<EvaluationCell>& columns) {
  Row row{kDifference, {}, {}};
  for (const EvaluationCell& cell : columns) {
    const auto* base = find_figure(results.published, PublishedRole::kBase, cell);
    const auto* proposed = find_figure(results.published, PublishedRole::kProposed, cell);
    const bool known = base != nullptr && proposed != nullptr;
    row.cells.push_back(known ? signed_text(proposed->value - base->value) : "");
    row.compete.emplace_back();
  }
  return row;
}

void add_own_rows(const SuiteResults& results, const std::vector<EvaluationCell>& columns, std::vector<Row>& rows) {
  Row row{results.name, {}, {}}, error{kStandardError, {}, {}};
  for (const EvaluationCell& cell : columns) {
    const CellSummary* own = find_summary(results, cell);
    const bool known = own != nullptr && !std::isnan(own->accuracy), complete = known && own->complete();
    row.cells.push_back(known ? (complete ? "" : "~") + format_percent(own->accuracy) : "");
    row.compete.push_back(complete ? std::optional(100 * own->accuracy) : std::nullopt);
    error.cells.push_back(known ? format_percent(own->standard_error) : "");
    error.compete.emplace_back();
  }
  rows.push_back(std::move(row));
  rows.push_back(std::move(error));
}

std::vector<Row> rows_of(const SuiteResults& results, const std::vector<EvaluationCell>& columns) {
  std::vector<Row> rows;
  for (const std::string& method : methods_of(results, columns)) rows.push_back(method_row(results, method, columns));
  Row difference = difference_row(results, columns);
  const bool told = std::ranges::any_of(difference.cells, [](const std::string& cell) { return !cell.empty(); });
  if (told) rows.push_back(std::move(difference));
  add_own_rows(results, columns, rows);
  return rows;
}

/// The best figures of each column where there are several, ties included: what is equal in print is equal.
void emphasise_best(const std::vector<Row>& rows, TextTable& table) {
  for (std::size_t column = 0; column + 1 < table.titles.size(); ++column) {
    std::vector<std::pair<double, std::size_t>> printed;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (const auto value = rows[row].compete[column]) printed.emplace_back(std::round(10 * *value), row);
    }
    if (printed.size() < 2) continue;
    const double best = std::ranges::max(printed).first;
    for (const auto& [value, row] : printed) {
      if (value == best) table.emphasised.emplace(row, column + 1);
    }
  }
}

TextTable layout(const SuiteResults& results, const std::vector<EvaluationCell>& columns, bool with_schedules) {
  TextTable table{{"model"}, {false}, {}};
  table.headings.assign(with_schedules ? 2 : 1, {""});
  for (const EvaluationCell& cell : columns) {
    table.titles.push_back(std::to_string(cell.length));
    table.is_number.push_back(true);
    if (with_schedules) table.headings.front().push_back(cell.schedule);
    table.headings.back().push_back(cell.task);
  }
  const std::vector<Row> rows = rows_of(results, columns);
  for (const Row& row : rows) {
    table.rows.push_back({row.name});
    table.rows.back().insert(table.rows.back().end(), row.cells.begin(), row.cells.end());
  }
  if (rows.size() > 2) table.rules.insert(rows.size() - 2);
  emphasise_best(rows, table);
  return table;
}

struct Columns {
  std::string title;
  bool with_schedules = false;
  std::string table;
  std::string schedule;  ///< empty where there are several
  std::vector<EvaluationCell> cells;
};

std::vector<EvaluationCell> columns_of(const SuiteFile& suite, const SuiteTable& table, const std::string& schedule) {
  std::vector<EvaluationCell> cells;
  for (std::size_t column = table.first; column < table.end; ++column) {
    cells.push_back(suite.columns[column]);
    cells.back().schedule = schedule;
  }
  return cells;
}

/// One entry for each table that is shown.
std::vector<Columns> shown_tables(const SuiteFile& suite, bool may_stand_together) {
  const std::vector<GridValue>& schedules = suite.axes.front().values;
  std::vector<Columns> all;
  for (const SuiteTable& table : suite.tables) {
    const bool together = table.together && may_stand_together && schedules.size() > 1;
    if (together) all.push_back({table.name, true, table.name, "", {}});
    for (const GridValue& value : schedules) {
      const std::string& schedule = value.name;
      const std::vector<EvaluationCell> cells = columns_of(suite, table, schedule);
      const std::string title = table.name + (table.name.empty() || schedule.empty() ? "" : ", ") + schedule;
      if (!together) all.push_back({title, false, table.name, schedule, {}});
      all.back().cells.insert(all.back().cells.end(), cells.begin(), cells.end());
    }
  }
  return all;
}

/// Every figure in the tables' layout under one header: a column for every task and length of the suite.
TextTable wide_table(const SuiteResults& results) {
  TextTable wide{{"table", "schedule", "model"}, {}, {}};
  const std::vector<Columns> tables = shown_tables(*results.suite, /*may_stand_together=*/false);
  const auto title = [](const EvaluationCell& cell) { return cell.task + " " + std::to_string(cell.length); };
  for (const Columns& columns : tables) {
    for (const EvaluationCell& cell : columns.cells) {
      if (std::ranges::count(wide.titles, title(cell)) == 0) wide.titles.push_back(title(cell));
    }
  }
  for (const Columns& columns : tables) {
    for (const Row& row : rows_of(results, columns.cells)) {
      auto& line = wide.rows.emplace_back(wide.titles.size());
      line[0] = columns.table;
      line[1] = columns.schedule;
      line[2] = row.name == kStandardError ? results.name + ", standard error" : row.name;
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const auto place = std::ranges::find(wide.titles, title(columns.cells[i])) - wide.titles.begin();
        line[static_cast<std::size_t>(place)] = row.cells[i];
      }
    }
  }
  wide.is_number.assign(wide.titles.size(), true);
  return wide;
}

}  // namespace

std::vector<TitledTable> layout_tables(const SuiteResults& results) {
  std::vector<TitledTable> tables;
  for (const Columns& columns : shown_tables(*results.suite, /*may_stand_together=*/true))
    tables.push_back({columns.title, layout(results, columns.cells, columns.with_schedules)});
  return tables;
}

std::vector<std::string> table_notes(const SuiteResults& results) {
  std::vector<std::string> notes = {"Per cent of items solved. *: the best of its column."};
  const bool incomplete = std::ranges::any_of(results.cells, [](const CellSummary& cell) { return !cell.complete(); });
  if (incomplete)
    notes.emplace_back("~ or empty: responses are missing or could not be judged; the same command continues.");
  const bool beside = std::ranges::any_of(results.cells, [&](const CellSummary& cell) {
    return std::ranges::any_of(results.published,
                               [&](const PublishedFigure& figure) { return figure.cell.name() == cell.cell.name(); });
  });
  if (beside) {
    notes.push_back("All rows but those of " + results.name + ": " + results.suite->published.filename().string() +
                    ", " + results.published.front().backbone + ".");
  } else if (!results.suite->published.empty()) {
    notes.push_back(results.suite->published.filename().string() + " has no figures of these tasks and this backbone.");
  }
  notes.emplace_back(
      "95 % interval: Wilson's; forwards, tokens: per response; cut off: no end token; time: of writing.");
  return notes;
}

std::string suite_text(const SuiteResults& results, bool unicode) {
  std::string text;
  for (const TitledTable& table : layout_tables(results))
    text += (table.title.empty() ? "" : table.title + "\n") + to_text(table.table, unicode) + "\n";
  text += to_text(summary_table(results.cells), unicode) + "\n";
  for (const std::string& note : table_notes(results)) text += note + "\n";
  return text;
}

void write_suite_tables(const SuiteResults& results, const std::filesystem::path& folder) {
  std::string latex;
  for (const TitledTable& table : layout_tables(results))
    latex += "% " + table.title + "\n" + to_latex(table.table) + "\n";
  latex += "% cells\n" + to_latex(summary_table(results.cells));
  write_file_atomically(folder / "table.txt", suite_text(results, true));
  write_file_atomically(folder / "table.csv", to_csv(wide_table(results)));
  write_file_atomically(folder / "table.tex", latex);
  write_file_atomically(folder / "cells.csv", to_csv(summary_numbers(results.cells)));
}

}  // namespace drift
