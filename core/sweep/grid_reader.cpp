#include <core/sweep/grid_reader.h>

#include <core/config/nearest.h>
#include <core/config/toml_layer.h>
#include <core/io/atomic.h>

#include <algorithm>
#include <utility>

namespace drift {

GridReader::GridReader(Grid& grid, const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides,
                       const char* section, const char* hint)
    : grid_(grid),
      document_(load_document(file, overrides)),  // says what is wrong with the TOML
      root_(parse_toml(read_whole_file(file), file.string())),
      section_(root_.get_as<toml::table>(section)) {
  grid.file = file;
  grid.section = section;
  grid.overrides = overrides;
  grid.name = file.stem().string();
  if (section_ != nullptr) return;
  Diagnostic& wrong = mistakes_.emplace_back();
  wrong.message = "`" + file.string() + "` has no [" + section + "] section";
  wrong.notes = {hint};
  throw_mistakes();
}

void GridReader::throw_mistakes() {
  if (has_mistakes()) throw ConfigError(std::move(mistakes_));
}

Diagnostic& GridReader::mistake(const toml::source_region& region, const std::string& message) {
  const Origin origin{Origin::Kind::kFile, grid_.file.string(), toml_span(region), {}};
  return mistake(origin, message);
}

Diagnostic& GridReader::mistake(const Origin& origin, const std::string& message) {
  return mistakes_.emplace_back(document_.at(origin, origin.key, message));
}

Diagnostic& GridReader::mistake(const std::string& message) {
  return mistake(Origin{Origin::Kind::kFile, grid_.file.string(), {}, {}}, message);
}

void GridReader::unknown_name(const toml::source_region& region, const std::string& message, const std::string& name,
                              const std::string& what, const std::vector<std::string>& known) {
  Diagnostic& wrong = mistake(region, message);
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) wrong.label = "did you mean `" + nearest + "`?";
  wrong.notes = {what + ": " + joined(known)};
}

void GridReader::check_keys(const toml::table& table, const std::string& where, const std::vector<std::string>& known) {
  for (auto&& [key, node] : table) {
    const std::string name(key.str());
    if (std::ranges::count(known, name) == 0)
      unknown_name(key.source(), "unknown key `" + name + "` in " + where, name, "keys of " + where, known);
  }
}

std::string GridReader::text(const toml::table& table, const char* key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  if (const auto* value = node->as_string(); value != nullptr && !value->get().empty()) return value->get();
  mistake(node->source(), "`" + std::string(key) + "` must be a text in quotes, and not an empty one");
  return {};
}

std::string GridReader::text(const toml::table& table, const char* key, const std::string& what, const char* example) {
  if (table.get(key) == nullptr) mistake(table.source(), "this " + what + " has no " + key).notes = {example};
  return text(table, key);
}

const toml::array* GridReader::list(const toml::table& table, const char* key, bool (*fits)(const toml::node&),
                                    const char* message, const char* note) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return nullptr;
  const toml::array* list = node->as_array();
  if (list != nullptr && !list->empty() && std::all_of(list->begin(), list->end(), fits)) return list;
  mistake(node->source(), message).notes = {note};
  return nullptr;
}

std::vector<const toml::table*> GridReader::tables(const toml::table& table, const char* key, const char* message,
                                                   const std::vector<std::string>& notes) {
  const toml::node* node = table.get(key);
  if (node == nullptr || !node->is_array_of_tables()) {
    mistake((node == nullptr ? table : *node).source(), message).notes = notes;
    return {};
  }
  std::vector<const toml::table*> tables;
  for (const toml::node& item : *node->as_array()) tables.push_back(item.as_table());
  return tables;
}

void GridReader::read_slurm() {
  const toml::node* node = section().get("slurm");
  if (node == nullptr) return;
  const std::string where = "[" + grid_.section + ".slurm]";
  const toml::table* table = node->as_table();
  if (table == nullptr) {
    mistake(node->source(), "`slurm` must be a section").notes = {"for example: " + where + " time = \"04:00:00\""};
    return;
  }
  check_keys(*table, where, {"partition", "time", "gpus", "lines"});
  SlurmSettings& slurm = grid_.slurm;
  slurm.partition = text(*table, "partition");
  slurm.time = text(*table, "time");
  if (const toml::node* gpus = table->get("gpus")) {
    slurm.gpus = gpus->is_integer() ? gpus->as_integer()->get() : -1;
    if (slurm.gpus < 0) mistake(gpus->source(), "`gpus` must be an integer of 0 or more");
  }
  const toml::array* lines = list(
      *table, "lines",
      [](const toml::node& line) {
        return line.is_string() && line.as_string()->get().starts_with("-") &&
               line.as_string()->get().find('\n') == std::string::npos;
      },
      "`lines` must be a list of options of sbatch", "for example: lines = [\"--mem=32G\", \"--account=physics\"]");
  if (lines == nullptr) return;
  for (const toml::node& line : *lines) slurm.lines.push_back(line.as_string()->get());
}

ExtendedFile GridReader::file_at(const std::string& name, const toml::source_region& region) const {
  const Origin origin{Origin::Kind::kFile, grid_.file.string(), {}, {}};
  return {(grid_.file.parent_path() / name).lexically_normal(), document_.at(origin, toml_span(region), "")};
}

GridValue GridReader::key_value(const std::string& path, const toml::key& key, const toml::node& node) const {
  const Origin origin = toml_origin(grid_.file, key, node);
  GridValue value;
  ConfigLeaf leaf = toml_leaf(node, origin, std::filesystem::absolute(grid_.file).parent_path());
  if (leaf.value) value.name = value_name(*leaf.value);
  value.settings.leaves[path] = std::move(leaf);
  for (auto section = section_of(path); !section.empty(); section = section_of(section))
    value.settings.tables[std::string(section)] = origin;
  return value;
}

std::string value_name(const Parameter::Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_toml(value);
}

}  // namespace drift
