#include <core/sweep/sweep_file.h>

#include <core/config/toml_layer.h>
#include <core/sweep/grid_reader.h>

#include <algorithm>
#include <map>
#include <set>

namespace drift {
namespace {

constexpr const char* kAxisExample =
    "for example: [[sweep.axis]] name = \"size\", values = [{ name = \"small\", set = { rollout.length = 20 } }]";
constexpr const char* kWhereExample = "for example: where = [{ setting = \"hard\", set = { train.steps = 20 } }]";

/// "names" of axes, values or measures.
template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.emplace_back(one.name);
  return names;
}

/// The texts that a node holds: one, or a list of them.
std::vector<const toml::node*> texts_of(const toml::node& node) {
  std::vector<const toml::node*> texts;
  if (node.is_string()) texts.push_back(&node);
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& item : *list) {
      if (item.is_string()) texts.push_back(&item);
    }
  }
  return texts;
}

class SweepReader : GridReader {
 public:
  SweepReader(SweepFile& sweep, const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides)
      : GridReader(sweep, file, overrides, "sweep",
                   "it lists the seeds and what varies; a single run is started by drift train"),
        sweep_(sweep) {}

  void read() {
    check_keys(section(), "[sweep]", {"name", "seeds", "measure", "compare", "baseline", "axis", "grid", "slurm"});
    read_name();
    read_seeds();
    read_measure();
    read_slurm();
    if (section().get("axis") != nullptr) read_axes();
    if (const toml::node* grid = section().get("grid")) read_grid(*grid);
    check_where();
    check_axes();
    read_comparison();
    throw_mistakes();
  }

 private:
  void read_name() {
    const std::string name = text(section(), "name");
    if (!name.empty()) sweep_.name = name;
    if (is_plain_name(sweep_.name)) return;
    mistake(section().get("name")->source(), "`sweep.name` must be a plain name, good for a folder").notes = {
        "the sweep's folder is runs/NAME; --out puts it elsewhere"};
  }

  void read_seeds() {
    const toml::array* seeds = list(
        section(), "seeds", [](const toml::node& seed) { return seed.is_integer() && seed.as_integer()->get() >= 0; },
        "`seeds` must be a list of integers of 0 or more", "for example: seeds = [1, 2, 3]");
    if (seeds == nullptr) return;
    if (seeds->size() > kMostRuns) {
      mistake(seeds->source(), "more than " + std::to_string(kMostRuns) + " seeds");
      return;
    }
    for (const toml::node& seed : *seeds) {
      const std::int64_t value = seed.as_integer()->get();
      if (std::ranges::count(sweep_.seeds, value) > 0)
        mistake(seed.source(), "seed " + std::to_string(value) + " is listed twice");
      sweep_.seeds.push_back(value);
    }
    const auto& flags = document().layers.back().leaves;
    if (const auto flag = flags.find("run.seed"); flag != flags.end()) {
      mistake(flag->second.origin, "the file lists the seeds").notes = {"change [sweep] seeds of " +
                                                                        sweep_.file.string()};
    }
  }

  void read_measure() {
    const std::string name = text(section(), "measure");
    if (name.empty()) return;
    std::vector<std::string> names;
    for (const SweepMeasure& measure : kSweepMeasures) {
      names.emplace_back(measure.key);
      if (name == measure.key) sweep_.measure = measure;
    }
    if (name != sweep_.measure.key)
      unknown_name(section().get("measure")->source(), "unknown measure `" + name + "`", name, "measures", names);
  }

  void read_axes() {
    for (const toml::table* table : tables(section(), "axis", "an axis is written as [[sweep.axis]]", {kAxisExample})) {
      check_keys(*table, "[[sweep.axis]]", {"name", "values"});
      GridAxis axis{text(*table, "name", "axis", kAxisExample)};
      for (const toml::table* value :
           tables(*table, "values", "`values` of an axis must be a list of tables with a name",
                  {kAxisExample,
                   "for values of a single key, use [sweep.grid]: train.learning_rate = "
                   "[3e-5, 1e-4]"}))
        axis.values.push_back(read_value(*value));
      if (!axis.values.empty()) sweep_.axes.push_back(std::move(axis));
    }
  }

  GridValue read_value(const toml::table& table) {
    check_keys(table, "an axis' value", {"name", "extends", "set", "where"});
    GridValue value;
    value.name = text(table, "name", "value", kAxisExample);
    if (const toml::node* extends = table.get("extends")) value.extends = read_extends(*extends);
    value.settings = read_set(table);
    if (table.get("where") != nullptr) value.exceptions = read_exceptions(table);
    return value;
  }

  ConfigLayer read_set(const toml::table& table) {
    const toml::node* set = table.get("set");
    if (set == nullptr) return {};
    if (const toml::table* settings = set->as_table()) return toml_layer(*settings, sweep_.file);
    mistake(set->source(), "`set` must be a table of keys").notes = {"for example: set = { train.steps = 20 }"};
    return {};
  }

  std::vector<GridException> read_exceptions(const toml::table& value) {
    std::vector<GridException> exceptions;
    for (const toml::table* table :
         tables(value, "where", "`where` must be a list of tables: values of other axes, and what is set for them",
                {kWhereExample})) {
      GridException& exception = exceptions.emplace_back();
      exception.settings = read_set(*table);
      for (auto&& [key, names] : *table) {
        if (key == "set") continue;
        auto& wanted = exception.where[std::string(key.str())];
        where_.emplace_back(std::string(key.str()), &names);
        for (const toml::node* name : texts_of(names)) wanted.push_back(name->as_string()->get());
        if (wanted.empty())
          mistake(names.source(), "`where` must be the name of a value, or a list of names").notes = {kWhereExample};
      }
    }
    return exceptions;
  }

  std::vector<ExtendedFile> read_extends(const toml::node& node) {
    std::vector<ExtendedFile> files;
    const auto names = toml_value(node);
    if (names && std::holds_alternative<std::vector<std::string>>(*names)) {
      for (const toml::node& item : *node.as_array()) files.push_back(file_at(item.as_string()->get(), item.source()));
    } else {
      mistake(node.source(), "`extends` must be a list of files").notes = {
          "for example: extends = [\"models/base.toml\", \"tasks/task.toml\"]"};
    }
    return files;
  }

  void read_grid(const toml::node& node) {
    const toml::table* grid = node.as_table();
    if (grid == nullptr) {
      mistake(node.source(), "`grid` must be a section of keys, each with a list of values").notes = {
          "for example: [sweep.grid] train.learning_rate = [3e-5, 1e-4]"};
      return;
    }
    std::vector<std::pair<toml::source_position, GridAxis>> axes;
    read_grid(*grid, "", axes);
    // TOML++ orders keys by name; the file's order is the user's.
    std::stable_sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [place, axis] : axes) sweep_.axes.push_back(std::move(axis));
  }

  void read_grid(const toml::table& table, const std::string& prefix,
                 std::vector<std::pair<toml::source_position, GridAxis>>& axes) {
    for (auto&& [key, node] : table) {
      const std::string path = prefix + toml_key(key.str());
      if (const toml::table* inner = node.as_table()) {
        read_grid(*inner, path + ".", axes);
      } else if (const toml::array* values = node.as_array(); values != nullptr && !values->empty()) {
        GridAxis axis{path, /*is_key=*/true};
        for (const toml::node& value : *values) axis.values.push_back(key_value(path, key, value));
        axes.emplace_back(key.source().begin, std::move(axis));
      } else {
        mistake(node.source(), "`" + path + "` must be a list of the values to try").notes = {
            "what all runs share belongs in the file's own sections, above [sweep]"};
      }
    }
  }

  /// Axes may come in any order: what `where` names is looked up when all are known.
  void check_where() {
    const std::vector<std::string> axes = names_of(sweep_.axes);
    for (const auto& [axis, node] : where_) {
      const auto found = std::ranges::find(sweep_.axes, axis, &GridAxis::name);
      if (found == sweep_.axes.end()) {
        unknown_name(node->source(), "`where` names no axis: `" + axis + "`", axis, "there are", axes);
        continue;
      }
      const auto values = names_of(found->values);
      for (const toml::node* text : texts_of(*node)) {
        const std::string& name = text->as_string()->get();
        if (std::ranges::count(values, name) == 0)
          unknown_name(text->source(), "`where` names no value of axis `" + axis + "`", name, "there are", values);
      }
    }
  }

  /// What does not depend on how an axis was written.
  void check_axes() {
    std::set<std::string> names;
    for (const GridAxis& axis : sweep_.axes) {
      if (!names.insert(axis.name).second) mistake("two axes are called `" + axis.name + "`");
      std::set<std::string> values;
      for (const GridValue& value : axis.values) {
        if (!axis.is_key || &value == &axis.values.front()) check_settings(value.settings);
        for (const GridException& exception : value.exceptions) check_settings(exception.settings);
        if (!values.insert(value.name).second && !value.name.empty())
          mistake("axis `" + axis.name + "` has the value `" + value.name + "` twice");
      }
    }
  }

  void check_settings(const ConfigLayer& settings) {
    for (const auto& [key, leaf] : settings.leaves) {
      if (key == "run.seed") {
        mistake(leaf.origin, "`run.seed` cannot be an axis").notes = {
            "the seeds of every cell are listed in [sweep]: seeds = [1, 2, 3]"};
      } else if (key.starts_with('"') && key.find('.') != std::string::npos) {
        mistake(leaf.origin, "a key of a section stands without quotes").label =
            "write " + key.substr(1, key.size() - 2);
      }
    }
  }

  void read_comparison() {
    sweep_.compared = sweep_.axes.empty() ? 0 : sweep_.axes.size() - 1;
    choose("compare", "axis", names_of(sweep_.axes), sweep_.compared);
    if (sweep_.axes.empty()) {
      choose("baseline", "value", {}, sweep_.baseline);
    } else {
      const GridAxis& axis = sweep_.axes[sweep_.compared];
      choose("baseline", "value of axis `" + axis.name + "`", names_of(axis.values), sweep_.baseline);
    }
  }

  /// Which of `names` the key names, where it is there.
  void choose(const char* key, const std::string& what, const std::vector<std::string>& names, std::size_t& index) {
    const toml::node* node = section().get(key);
    if (node == nullptr) return;
    const auto value = toml_value(*node);
    const std::string name = value ? value_name(*value) : "";
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) {
      index = static_cast<std::size_t>(found - names.begin());
    } else {
      unknown_name(node->source(), "`" + std::string(key) + "` names no " + what, name, "one of", names);
    }
  }

  SweepFile& sweep_;
  std::vector<std::pair<std::string, const toml::node*>> where_;  // axis and names, of every `where`
};

}  // namespace

SweepFile read_sweep_file(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides) {
  SweepFile sweep;
  SweepReader(sweep, file, overrides).read();
  return sweep;
}

}  // namespace drift
