#include <core/eval/suite_file.h>

#include <core/sweep/grid_reader.h>

#include <set>
#include <utility>

namespace drift {
namespace {

constexpr const char* kTaskExample =
    "for example: tasks = [{ name = \"puzzles\", file = \"../tasks/puzzles.toml\", lengths = [256] }]";

class SuiteReader : GridReader {
 public:
  SuiteReader(SuiteFile& suite, const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides)
      : GridReader(suite, file, overrides, "suite",
                   "it lists the tasks, lengths and schedules; docs/evaluation.md describes it"),
        suite_(suite) {}

  void read() {
    check_keys(section(), "[suite]", {"lengths", "schedules", "published", "backbone", "tasks", "table", "slurm"});
    read_slurm();
    suite_.axes = {{"schedule", false, read_schedules()}, {"column"}};
    if (const std::string published = text(section(), "published"); !published.empty())
      suite_.published = file_at(published, section().source()).file;
    suite_.backbone = text(section(), "backbone");
    const std::vector<GridValue> lengths = read_lengths(section(), {});
    if (section().get("tasks") != nullptr) read_table(section(), lengths);
    if (section().get("table") != nullptr) read_tables(lengths);
    if (suite_.tables.empty() && !has_mistakes())
      mistake(section().source(), "the suite has no tasks").notes = {kTaskExample};
    check_names();
    throw_mistakes();
  }

 private:
  std::vector<GridValue> read_schedules() {
    const toml::array* names = list(
        section(), "schedules",
        [](const toml::node& item) { return item.is_string() && !item.as_string()->get().empty(); },
        "`schedules` must be a list of texts",
        "for example: schedules = [\"dynamic\", \"static\"]; each is a value of evaluation.rollout.schedule");
    return names == nullptr ? std::vector<GridValue>(1) : values("schedule", section(), "schedules", *names);
  }

  std::vector<GridValue> read_lengths(const toml::table& table, std::vector<GridValue> otherwise) {
    const toml::array* lengths = list(
        table, "lengths", [](const toml::node& item) { return item.is_integer() && item.as_integer()->get() > 0; },
        "`lengths` must be a list of integers of 1 or more",
        "for example: lengths = [128, 256, 512]; each is a value of evaluation.rollout.length");
    return lengths == nullptr ? std::move(otherwise) : values("length", table, "lengths", *lengths);
  }

  /// Values of a parameter of [evaluation.rollout].
  std::vector<GridValue> values(const std::string& parameter, const toml::table& table, const char* key,
                                const toml::array& list) const {
    std::vector<GridValue> values;
    for (const toml::node& item : list)
      values.push_back(key_value("evaluation.rollout." + parameter, table.find(key)->first, item));
    return values;
  }

  void read_tables(const std::vector<GridValue>& lengths) {
    for (const toml::table* table :
         tables(section(), "table", "a table is written as [[suite.table]]",
                {"with its name and its tasks; a suite of one table may have tasks in [suite] itself"})) {
      check_keys(*table, "[[suite.table]]", {"name", "together", "lengths", "tasks"});
      SuiteTable& read = read_table(*table, read_lengths(*table, lengths));
      read.name = text(*table, "name");
      const toml::node* together = table->get("together");
      if (together == nullptr) continue;
      if (!together->is_boolean()) mistake(together->source(), "`together` must be true or false");
      read.together = together->value_or(false);
    }
  }

  SuiteTable& read_table(const toml::table& table, const std::vector<GridValue>& lengths) {
    const std::size_t first = suite_.columns.size();
    for (const toml::table* task : tables(table, "tasks", "`tasks` must be a list of tables", {kTaskExample}))
      read_task(*task, lengths);
    return suite_.tables.emplace_back(SuiteTable{"", false, first, suite_.columns.size()});
  }

  /// A column for each length of the task.
  void read_task(const toml::table& table, const std::vector<GridValue>& all_lengths) {
    check_keys(table, "a task", {"name", "file", "lengths"});
    const std::string name = text(table, "name", "task", kTaskExample);
    const std::string file = text(table, "file", "task", kTaskExample);
    if (!is_plain_name(name) || name.starts_with('.'))
      mistake(table.get("name")->source(), "the task's name must be usable as a file name");
    const std::vector<GridValue> lengths = read_lengths(table, all_lengths);
    if (lengths.empty())
      mistake(table.source(), "no lengths for this task").notes = {
          "set its `lengths`, or set them for all tasks in [suite]: lengths = [128, 256, 512]"};
    for (GridValue column : lengths) {
      const toml::node* named = table.get("file");
      column.extends = {file_at(file, (named == nullptr ? table : *named).source())};
      suite_.columns.push_back({name, std::stoll(column.name), ""});
      suite_.axes.back().values.push_back(std::move(column));
    }
  }

  void check_names() {
    std::set<std::string> names;
    for (const GridCell& cell : cells_of(suite_)) {
      if (!names.insert(cell.label).second)
        mistake("the suite has the cell " + cell.label + " twice").notes = {
            "tasks, and the lengths of a task, need different names"};
    }
  }

  SuiteFile& suite_;
};

}  // namespace

SuiteFile read_suite_file(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides) {
  SuiteFile suite;
  SuiteReader(suite, file, overrides).read();
  return suite;
}

std::vector<GridCell> cells_of(const SuiteFile& suite) {
  std::vector<GridCell> cells = expand_grid(suite);
  for (GridCell& cell : cells) cell.label = evaluation_cell(suite, cell).name();
  return cells;
}

EvaluationCell evaluation_cell(const SuiteFile& suite, const GridCell& cell) {
  EvaluationCell named = suite.columns[cell.values.back()];
  named.schedule = suite.axes.front().values[cell.values.front()].name;
  return named;
}

}  // namespace drift
