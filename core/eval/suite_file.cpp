#include <core/eval/suite_file.h>

#include <core/config/section_reader.h>
#include <core/config/toml_layer.h>

#include <algorithm>
#include <set>
#include <utility>

namespace drift {
namespace {

constexpr const char* kTaskExample =
    "for example: tasks = [{ name = \"puzzles\", file = \"../tasks/puzzles.toml\", lengths = [256] }]";

/// Reads the [suite] section and collects every mistake on the way.
class Reader : SectionReader {
 public:
  Reader(const std::filesystem::path& file, const ConfigDocument& document) : SectionReader(file, document) {
    suite_.file = file;
    suite_.name = file.stem().string();
  }

  SuiteFile read(const toml::table& root) {
    const toml::node* node = root.get("suite");
    const toml::table* section = node == nullptr ? nullptr : node->as_table();
    if (section == nullptr) {
      Diagnostic& wrong = mistakes_.emplace_back();
      wrong.message = "`" + file_.string() + "` has no [suite] section";
      wrong.notes = {"it lists the tasks, lengths and schedules; docs/evaluation.md describes it"};
      throw ConfigError(std::move(mistakes_));
    }
    check_keys(*section, "[suite]", {"lengths", "schedules", "published", "backbone", "tasks", "table"});
    read_schedules(*section);
    if (const std::string published = text(*section, "published"); !published.empty())
      suite_.published = beside(published);
    suite_.backbone = text(*section, "backbone");
    const std::vector<SuiteLength> lengths = read_lengths(*section, {});
    if (section->get("tasks") != nullptr) suite_.tables.push_back(read_table(*section, lengths));
    read_tables(*section, lengths);
    if (suite_.tables.empty() && mistakes_.empty())
      mistake(section->source(), "the suite has no tasks").notes = {kTaskExample};
    check_names();
    if (!mistakes_.empty()) throw ConfigError(std::move(mistakes_));
    return std::move(suite_);
  }

 private:
  Origin origin(const toml::node& node) const {
    const TextSpan span = toml_span(node.source());
    return {Origin::Kind::kFile, file_.string(), span, span};
  }
  std::filesystem::path beside(const std::string& name) const {
    return (file_.parent_path() / name).lexically_normal();
  }

  void read_schedules(const toml::table& section) {
    const toml::node* node = section.get("schedules");
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    const auto is_name = [](const toml::node& item) { return item.is_string() && !item.as_string()->get().empty(); };
    if (list == nullptr || list->empty() || !std::all_of(list->begin(), list->end(), is_name)) {
      mistake(node->source(), "`schedules` must be a list of texts").notes = {
          "for example: schedules = [\"dynamic\", \"static\"]; each is a value of evaluation.rollout.schedule"};
      return;
    }
    for (const toml::node& item : *list) suite_.schedules.push_back({item.as_string()->get(), origin(item)});
  }

  std::vector<SuiteLength> read_lengths(const toml::table& table, std::vector<SuiteLength> otherwise) {
    const toml::node* node = table.get("lengths");
    if (node == nullptr) return otherwise;
    const toml::array* list = node->as_array();
    const auto is_length = [](const toml::node& item) { return item.is_integer() && item.as_integer()->get() > 0; };
    if (list == nullptr || list->empty() || !std::all_of(list->begin(), list->end(), is_length)) {
      mistake(node->source(), "`lengths` must be a list of integers of 1 or more").notes = {
          "for example: lengths = [128, 256, 512]; each is a value of evaluation.rollout.length"};
      return otherwise;
    }
    std::vector<SuiteLength> lengths;
    for (const toml::node& item : *list) lengths.push_back({item.as_integer()->get(), origin(item)});
    return lengths;
  }

  void read_tables(const toml::table& section, const std::vector<SuiteLength>& lengths) {
    const toml::node* node = section.get("table");
    if (node == nullptr) return;
    if (!node->is_array_of_tables()) {
      mistake(node->source(), "a table is written as [[suite.table]]").notes = {
          "with its name and its tasks; a suite of one table may have tasks in [suite] itself"};
      return;
    }
    for (const toml::node& item : *node->as_array()) {
      const toml::table& table = *item.as_table();
      check_keys(table, "[[suite.table]]", {"name", "together", "lengths", "tasks"});
      SuiteTable read = read_table(table, read_lengths(table, lengths));
      read.name = text(table, "name");
      if (const toml::node* together = table.get("together")) {
        if (!together->is_boolean()) mistake(together->source(), "`together` must be true or false");
        read.together = together->value_or(false);
      }
      suite_.tables.push_back(std::move(read));
    }
  }

  SuiteTable read_table(const toml::table& table, const std::vector<SuiteLength>& lengths) {
    SuiteTable read;
    const toml::node* node = table.get("tasks");
    if (node == nullptr || !node->is_array_of_tables() || node->as_array()->empty()) {
      mistake(node == nullptr ? table.source() : node->source(), "`tasks` must be a list of tables").notes = {
          kTaskExample};
      return read;
    }
    for (const toml::node& item : *node->as_array()) read.tasks.push_back(read_task(*item.as_table(), lengths));
    return read;
  }

  SuiteTask read_task(const toml::table& table, const std::vector<SuiteLength>& lengths) {
    check_keys(table, "a task", {"name", "file", "lengths"});
    SuiteTask task;
    task.name = text(table, "name");
    const std::string file = text(table, "file");
    for (const char* key : {"name", "file"}) {
      if (table.get(key) == nullptr)
        mistake(table.source(), "this task has no " + std::string(key)).notes = {kTaskExample};
    }
    const toml::node* named = table.get("file");
    task.file = {beside(file), place(named == nullptr ? table.source() : named->source(), "")};
    task.lengths = read_lengths(table, lengths);
    if (task.lengths.empty())
      mistake(table.source(), "no lengths for this task").notes = {
          "give it `lengths`, or give them to all tasks in [suite]: lengths = [128, 256, 512]"};
    const bool plain = std::ranges::none_of(task.name, [](unsigned char c) { return c == '/' || c < 0x20; });
    if (!plain || task.name.starts_with('.'))
      mistake(table.get("name")->source(), "the task's name must be a plain one, good for a file");
    return task;
  }

  void check_names() {
    std::set<std::string> cells;
    for (const SuiteCell& cell : cells_of(suite_)) {
      if (cells.insert(cell.cell.name()).second) continue;
      Diagnostic& wrong = mistakes_.emplace_back();
      wrong.message = "the suite has the cell " + cell.cell.name() + " twice";
      wrong.file = file_.string();
      wrong.notes = {"tasks, and the lengths of a task, need different names"};
    }
  }

  SuiteFile suite_;
};

void set(ConfigLayer& layer, const std::string& key, ParamValue value, const Origin& origin) {
  layer.leaves["evaluation.rollout." + key] = {std::move(value), "", origin, {}};
}

}  // namespace

SuiteFile read_suite_file(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides) {
  const ConfigDocument document = load_document(file, overrides);  // says what is wrong with the TOML
  SuiteFile suite = Reader(file, document).read(toml::parse_file(file.string()));
  suite.overrides = overrides;
  return suite;
}

std::vector<SuiteCell> cells_of(const SuiteFile& suite) {
  std::vector<SuiteCell> cells;
  const std::size_t schedules = std::max<std::size_t>(1, suite.schedules.size());
  for (std::size_t number = 0; number < schedules; ++number) {
    const SuiteSchedule* schedule = suite.schedules.empty() ? nullptr : &suite.schedules[number];
    for (const SuiteTable& table : suite.tables) {
      for (const SuiteTask& task : table.tasks) {
        for (const SuiteLength& length : task.lengths) {
          const std::string name = schedule == nullptr ? "" : schedule->name;
          cells.push_back({{task.name, length.positions, name}, &task, &length, schedule});
        }
      }
    }
  }
  return cells;
}

ConfigDocument cell_document(const SuiteFile& suite, const SuiteCell& cell) {
  ConfigDocument document = load_document(suite.file, suite.overrides, {cell.task->file});
  ConfigLayer& own = *(document.layers.end() - 2);
  const auto is_suite = [](const auto& entry) { return entry.first == "suite" || entry.first.starts_with("suite."); };
  std::erase_if(own.leaves, is_suite);
  std::erase_if(own.tables, is_suite);
  ConfigLayer settings;
  set(settings, "length", cell.length->positions, cell.length->origin);
  if (cell.schedule != nullptr) set(settings, "schedule", cell.schedule->name, cell.schedule->origin);
  for (const char* table : {"evaluation", "evaluation.rollout"}) settings.tables[table] = cell.length->origin;
  document.layers.insert(document.layers.end() - 1, std::move(settings));
  return document;
}

}  // namespace drift
