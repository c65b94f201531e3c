#include <core/sweep/sweep_file.h>

#include <core/config/nearest.h>
#include <core/config/section_reader.h>
#include <core/config/toml_layer.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace drift {
namespace {

const std::map<std::string, SweepMeasure> kMeasures = {
    {"held_out", SweepMeasure::kHeldOut}, {"reward", SweepMeasure::kReward}, {"solved", SweepMeasure::kSolved}};

constexpr const char* kAxisExample =
    "for example: [[sweep.axis]] name = \"size\", values = [{ name = \"small\", set = { rollout.length = 20 } }]";

/// As people write it: 1e-4, not 1e-04.
std::string value_name(const ParamValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  std::string name = to_toml(value);
  const auto exponent = std::holds_alternative<double>(value) ? name.find('e') : std::string::npos;
  if (exponent != std::string::npos && exponent + 2 < name.size() && name[exponent + 2] == '0')
    name.erase(exponent + 2, 1);
  return name;
}

std::vector<std::string> names_of(const std::vector<SweepValue>& values) {
  std::vector<std::string> names;
  for (const SweepValue& value : values) names.push_back(value.name);
  return names;
}

/// Reads the [sweep] section and collects every mistake on the way.
class Reader : SectionReader {
 public:
  Reader(const std::filesystem::path& file, const ConfigDocument& document) : SectionReader(file, document) {
    sweep_.file = file;
    sweep_.name = file.stem().string();
  }

  SweepFile read(const toml::table& root) {
    const toml::node* node = root.get("sweep");
    const toml::table* section = node == nullptr ? nullptr : node->as_table();
    if (section == nullptr) {
      Diagnostic& wrong = mistakes_.emplace_back();
      wrong.message = "`" + file_.string() + "` has no [sweep] section";
      wrong.notes = {"it lists the seeds and what varies; a single run is started by drift train"};
      throw ConfigError(std::move(mistakes_));
    }
    check_keys(*section, "[sweep]", {"name", "seeds", "measure", "compare", "baseline", "axis", "grid"});
    if (const std::string name = text(*section, "name"); !name.empty()) sweep_.name = name;
    check_name(*section);
    read_seeds(*section);
    read_measure(*section);
    read_axes(*section);
    if (const toml::node* grid = section->get("grid")) read_grid(*grid);
    check_axes();
    read_comparison(*section);
    if (!mistakes_.empty()) throw ConfigError(std::move(mistakes_));
    return std::move(sweep_);
  }

 private:
  void check_name(const toml::table& section) {
    const bool plain = std::ranges::none_of(sweep_.name, [](unsigned char c) { return c == '/' || c < 0x20; });
    if (plain && sweep_.name != "." && sweep_.name != "..") return;
    mistake(section.get("name")->source(), "`sweep.name` must be a plain name, good for a folder").notes = {
        "the sweep's folder is runs/NAME; --out puts it elsewhere"};
  }

  void read_seeds(const toml::table& section) {
    const toml::node* node = section.get("seeds");
    if (node == nullptr) return;
    const toml::array* seeds = node->as_array();
    const auto is_seed = [](const toml::node& seed) { return seed.is_integer() && seed.as_integer()->get() >= 0; };
    if (seeds == nullptr || seeds->empty() || !std::all_of(seeds->begin(), seeds->end(), is_seed)) {
      mistake(node->source(), "`seeds` must be a list of integers of 0 or more").notes = {
          "for example: seeds = [1, 2, 3]"};
      return;
    }
    for (const toml::node& seed : *seeds) {
      const std::int64_t value = seed.as_integer()->get();
      if (std::ranges::count(sweep_.seeds, value) > 0) {
        mistake(seed.source(), "seed " + std::to_string(value) + " is listed twice");
      } else {
        sweep_.seeds.push_back(value);
      }
    }
  }

  void read_measure(const toml::table& section) {
    const std::string name = text(section, "measure");
    if (name.empty()) return;
    if (const auto found = kMeasures.find(name); found != kMeasures.end()) {
      sweep_.measure = found->second;
      return;
    }
    std::vector<std::string> names;
    for (const auto& [known, measure] : kMeasures) names.push_back(known);
    Diagnostic& wrong = mistake(section.get("measure")->source(), "unknown measure `" + name + "`");
    const std::string nearest = nearest_name(name, names);
    if (!nearest.empty()) wrong.label = "did you mean `" + nearest + "`?";
    wrong.notes = {"measures: " + joined(names)};
  }

  void read_axes(const toml::table& section) {
    const toml::node* node = section.get("axis");
    if (node == nullptr) return;
    if (!node->is_array_of_tables()) {
      mistake(node->source(), "an axis is written as [[sweep.axis]]").notes = {kAxisExample};
      return;
    }
    for (const toml::node& axis : *node->as_array()) read_axis(*axis.as_table());
  }

  void read_axis(const toml::table& table) {
    check_keys(table, "[[sweep.axis]]", {"name", "values"});
    SweepAxis axis;
    axis.name = text(table, "name");
    if (table.get("name") == nullptr) mistake(table.source(), "this axis has no name").notes = {kAxisExample};
    const toml::node* values = table.get("values");
    if (values == nullptr || !values->is_array_of_tables()) {
      mistake(values == nullptr ? table.source() : values->source(),
              "`values` of an axis must be a list of tables with a name")
          .notes = {kAxisExample, "for values of a single key, use [sweep.grid]: train.learning_rate = [3e-5, 1e-4]"};
      return;
    }
    for (const toml::node& value : *values->as_array()) axis.values.push_back(read_value(*value.as_table()));
    sweep_.axes.push_back(std::move(axis));
  }

  SweepValue read_value(const toml::table& table) {
    check_keys(table, "an axis' value", {"name", "extends", "set", "where"});
    SweepValue value;
    value.name = text(table, "name");
    if (table.get("name") == nullptr) mistake(table.source(), "this value has no name").notes = {kAxisExample};
    if (const toml::node* extends = table.get("extends")) value.extends = read_extends(*extends);
    value.settings = read_set(table);
    if (const toml::node* where = table.get("where")) read_exceptions(*where, value);
    return value;
  }

  ConfigLayer read_set(const toml::table& table) {
    const toml::node* set = table.get("set");
    if (set == nullptr) return {};
    if (const toml::table* settings = set->as_table()) return toml_layer(*settings, file_);
    mistake(set->source(), "`set` must be a table of keys").notes = {"for example: set = { train.steps = 20 }"};
    return {};
  }

  void read_exceptions(const toml::node& node, SweepValue& value) {
    const char* example = "for example: where = [{ setting = \"hard\", set = { train.steps = 20 } }]";
    if (!node.is_array_of_tables()) {
      mistake(node.source(), "`where` must be a list of tables: values of other axes, and what is set for them")
          .notes = {example};
      return;
    }
    for (const toml::node& item : *node.as_array()) {
      const toml::table& table = *item.as_table();
      SweepException exception;
      exception.settings = read_set(table);
      for (auto&& [key, names] : table) {
        if (key == "set") continue;
        auto& wanted = exception.where[std::string(key.str())];
        where_.emplace_back(std::string(key.str()), &names);
        if (names.is_string()) wanted.push_back(names.as_string()->get());
        if (const toml::array* list = names.as_array()) {
          for (const toml::node& name : *list) {
            if (name.is_string()) wanted.push_back(name.as_string()->get());
          }
        }
        if (wanted.empty())
          mistake(names.source(), "`where` wants the name of a value, or a list of names").notes = {example};
      }
      value.exceptions.push_back(std::move(exception));
    }
  }

  std::vector<ExtendedFile> read_extends(const toml::node& node) {
    const auto names = toml_value(node);
    if (!names || !std::holds_alternative<std::vector<std::string>>(*names)) {
      mistake(node.source(), "`extends` must be a list of files").notes = {
          "for example: extends = [\"models/base.toml\", \"tasks/task.toml\"]"};
      return {};
    }
    std::vector<ExtendedFile> files;
    for (const toml::node& item : *node.as_array()) {
      const auto path = (file_.parent_path() / item.as_string()->get()).lexically_normal();
      files.push_back(
          {path, document_.at({Origin::Kind::kFile, file_.string(), {}, {}}, toml_span(item.source()), "")});
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
    std::vector<std::pair<toml::source_position, SweepAxis>> axes;
    read_grid(*grid, "", axes);
    // TOML++ orders keys by name; the file's order is the user's.
    std::stable_sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [place, axis] : axes) sweep_.axes.push_back(std::move(axis));
  }

  void read_grid(const toml::table& table, const std::string& prefix,
                 std::vector<std::pair<toml::source_position, SweepAxis>>& axes) {
    for (auto&& [key, node] : table) {
      const std::string path = prefix + toml_key(key.str());
      if (const toml::table* inner = node.as_table()) {
        read_grid(*inner, path + ".", axes);
      } else if (const toml::array* values = node.as_array(); values != nullptr && !values->empty()) {
        axes.emplace_back(key.source().begin, grid_axis(path, key, *values));
      } else {
        mistake(node.source(), "`" + path + "` wants a list of the values to try").notes = {
            "what all runs share belongs in the file's own sections, above [sweep]"};
      }
    }
  }

  SweepAxis grid_axis(const std::string& path, const toml::key& key, const toml::array& values) {
    SweepAxis axis{path, /*is_key=*/true, {}};
    for (const toml::node& node : values) {
      const Origin origin = toml_origin(file_, key, node);
      SweepValue value;
      ConfigLeaf leaf = toml_leaf(node, origin, std::filesystem::absolute(file_).parent_path());
      if (leaf.value) value.name = value_name(*leaf.value);
      value.settings.leaves[path] = std::move(leaf);
      for (auto section = section_of(path); !section.empty(); section = section_of(section))
        value.settings.tables[std::string(section)] = origin;
      axis.values.push_back(std::move(value));
    }
    return axis;
  }

  /// Axes may come in any order: what `where` names is looked up when all are known.
  void check_where() {
    std::vector<std::string> axes;
    for (const SweepAxis& axis : sweep_.axes) axes.push_back(axis.name);
    for (const auto& [axis, node] : where_) {
      const auto found = std::ranges::find(axes, axis);
      if (found == axes.end()) {
        refuse_name(*node, "`where` names no axis: `" + axis + "`", axis, axes);
        continue;
      }
      const auto values = names_of(sweep_.axes[static_cast<std::size_t>(found - axes.begin())].values);
      const auto check = [&](const toml::node& name) {
        if (!name.is_string() || std::ranges::count(values, name.as_string()->get()) > 0) return;
        refuse_name(name, "`where` names no value of axis `" + axis + "`", name.as_string()->get(), values);
      };
      check(*node);
      if (const toml::array* list = node->as_array()) {
        for (const toml::node& name : *list) check(name);
      }
    }
  }

  void refuse_name(const toml::node& node, const std::string& message, const std::string& name,
                   const std::vector<std::string>& known) {
    Diagnostic& wrong = mistake(node.source(), message);
    const std::string nearest = nearest_name(name, known);
    if (!nearest.empty()) wrong.label = "did you mean `" + nearest + "`?";
    wrong.notes = {"there are: " + joined(known)};
  }

  /// What does not depend on how an axis was written.
  void check_axes() {
    check_where();
    std::set<std::string> names;
    for (const SweepAxis& axis : sweep_.axes) {
      if (!names.insert(axis.name).second) {
        Diagnostic& wrong = mistakes_.emplace_back();
        wrong.message = "two axes are called `" + axis.name + "`";
        wrong.file = file_.string();
      }
      std::set<std::string> values;
      for (const SweepValue& value : axis.values) {
        if (!axis.is_key || &value == &axis.values.front()) check_settings(value.settings);
        for (const SweepException& exception : value.exceptions) check_settings(exception.settings);
        if (!values.insert(value.name).second && !value.name.empty()) {
          Diagnostic& wrong = mistakes_.emplace_back();
          wrong.message = "axis `" + axis.name + "` has the value `" + value.name + "` twice";
          wrong.file = file_.string();
        }
      }
    }
  }

  void check_settings(const ConfigLayer& settings) {
    for (const auto& [key, leaf] : settings.leaves) {
      if (key == "run.seed") {
        mistakes_.push_back(document_.at(leaf.origin, leaf.origin.key, "`run.seed` cannot be an axis"));
        mistakes_.back().notes = {"the seeds of every cell are listed in [sweep]: seeds = [1, 2, 3]"};
      } else if (key.starts_with('"') && key.find('.') != std::string::npos) {
        mistakes_.push_back(document_.at(leaf.origin, leaf.origin.key, "a key of a section stands without quotes"));
        mistakes_.back().label = "write " + key.substr(1, key.size() - 2);
      }
    }
  }

  void read_comparison(const toml::table& section) {
    sweep_.compared = sweep_.axes.empty() ? 0 : sweep_.axes.size() - 1;
    std::vector<std::string> axes;
    for (const SweepAxis& axis : sweep_.axes) axes.push_back(axis.name);
    if (const auto index = choose(section, "compare", "axis", axes)) sweep_.compared = *index;
    const auto values = axes.empty() ? std::vector<std::string>() : names_of(sweep_.axes[sweep_.compared].values);
    const std::string what = axes.empty() ? "value" : "value of axis `" + axes[sweep_.compared] + "`";
    if (const auto index = choose(section, "baseline", what, values)) sweep_.baseline = *index;
  }

  /// Which of `names` the key names; nothing if it is not there or (reported) names none.
  std::optional<std::size_t> choose(const toml::table& section, const char* key, const std::string& what,
                                    const std::vector<std::string>& names) {
    const toml::node* node = section.get(key);
    if (node == nullptr) return std::nullopt;
    const auto value = toml_value(*node);
    const std::string name = value ? value_name(*value) : "";
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return found - names.begin();
    Diagnostic& wrong = mistake(node->source(), "`" + std::string(key) + "` names no " + what);
    const std::string nearest = nearest_name(name, names);
    if (!nearest.empty()) wrong.label = "did you mean `" + nearest + "`?";
    wrong.notes = {"one of: " + joined(names)};
    return std::nullopt;
  }

  SweepFile sweep_;
  std::vector<std::pair<std::string, const toml::node*>> where_;  // axis and names, of every `where`
};

}  // namespace

std::string SweepAxis::label(std::size_t value) const {
  const std::string key(name_of(name));
  return (is_key && key != "name" ? key + "=" : "") + values[value].name;
}

SweepFile read_sweep_file(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides) {
  const ConfigDocument document = load_document(file, overrides);  // says what is wrong with the TOML
  SweepFile sweep = Reader(file, document).read(toml::parse_file(file.string()));
  const auto& command_line = document.layers.back().leaves;
  if (const auto seed = command_line.find("run.seed"); seed != command_line.end() && !sweep.seeds.empty()) {
    Diagnostic wrong = document.at(seed->second.origin, seed->second.origin.key, "the file lists the seeds");
    wrong.notes = {"change [sweep] seeds of " + file.string()};
    throw ConfigError({wrong});
  }
  sweep.overrides = overrides;
  return sweep;
}

}  // namespace drift
