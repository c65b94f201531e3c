#include <core/import/import_table.h>

#include <core/base/quote.h>
#include <core/base/share_folder.h>
#include <core/base/wildcards.h>
#include <core/config/nearest.h>
#include <core/config/toml_layer.h>
#include <core/io/atomic.h>

#include <drift/error.h>

#include <algorithm>
#include <cctype>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestTable = std::size_t{1} << 20;
constexpr const char* kTableHint = "docs/migration.md describes the file";

class TableReader {
 public:
  explicit TableReader(const fs::path& file) : file_(file) {}

  ImportTable read() {
    const toml::table root = parse();
    check_keys(root, {"name", "title", "repository", "extends", "has", "lacks", "defaults", "rule"});
    ImportTable table{file_,
                      text(root, "name"),
                      text(root, "title"),
                      text(root, "repository"),
                      texts(root, "has"),
                      texts(root, "lacks"),
                      {},
                      {}};
    if (const toml::node* defaults = root.get("defaults")) {
      for (const auto& [key, value] : toml_layer(as_table(*defaults), file_).leaves)
        table.defaults[key] = text_of(*value.value);
    }
    const toml::array* rules = root.get_as<toml::array>("rule");
    if (rules == nullptr) fail(root, "a table has [[rule]]");
    for (const toml::node& rule : *rules) table.rules.push_back(read_rule(as_table(rule)));
    if (const std::string below = text(root, "extends"); !below.empty()) extend(table, file_.parent_path() / below);
    return table;
  }

 private:
  static void extend(ImportTable& table, const fs::path& below) {
    const ImportTable extended = TableReader(below).read();
    const std::size_t own = table.rules.size();
    for (const ImportRule& rule : extended.rules) {
      const auto end = table.rules.begin() + static_cast<std::ptrdiff_t>(own);
      if (std::find_if(table.rules.begin(), end, [&](const ImportRule& one) { return one.from == rule.from; }) == end)
        table.rules.push_back(rule);
    }
    table.defaults.insert(extended.defaults.begin(), extended.defaults.end());
  }

  toml::table parse() const {
    try {
      return parse_toml(read_whole_file(file_, kLargestTable), file_.string());
    } catch (const toml::parse_error& error) {
      throw Error(file_.string() + ":" + std::to_string(error.source().begin.line) + ": " + toml_syntax_message(error));
    }
  }

  [[noreturn]] void fail(const toml::node& node, const std::string& what, const std::string& hint = kTableHint) const {
    throw Error(file_.string() + ":" + std::to_string(node.source().begin.line) + ": " + what, hint);
  }

  void check_keys(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (std::ranges::count(known, name) == 0)
        fail(node, "unknown key " + quoted_name(name), name_hint(name, known, "keys"));
    }
  }

  const toml::table& as_table(const toml::node& node) const {
    if (!node.is_table()) fail(node, "a table of keys and values is expected");
    return *node.as_table();
  }

  std::string text(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    if (!node->is_string()) fail(*node, std::string("`") + key + "` is not a text");
    return node->as_string()->get();
  }

  /// A text, or a list of texts.
  std::vector<std::string> texts(const toml::node& node) const {
    if (node.is_string()) return {node.as_string()->get()};
    std::vector<std::string> list;
    if (!node.is_array()) fail(node, "a text or a list of texts is expected");
    for (const toml::node& one : *node.as_array()) {
      if (!one.is_string()) fail(one, "a text is expected");
      list.push_back(one.as_string()->get());
    }
    return list;
  }

  std::vector<std::string> texts(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    return node == nullptr ? std::vector<std::string>{} : texts(*node);
  }

  static std::string text_of(const ParamValue& value) {
    const auto* const own = std::get_if<std::string>(&value);
    return own != nullptr ? *own : to_toml(value);
  }

  std::vector<std::string> patterns(const toml::node& when, const ConfigLeaf& leaf) const {
    if (!leaf.value) fail(when, "a text or a list of texts is expected");
    if (const auto* list = std::get_if<std::vector<std::string>>(&*leaf.value)) return *list;
    return {text_of(*leaf.value)};
  }

  ImportedValues imported(const toml::node& node, const std::vector<std::string>& to) const {
    ImportedValues values;
    if (const toml::table* own = node.as_table()) {
      for (const auto& [key, leaf] : toml_layer(*own, file_).leaves) values.emplace_back(key, *leaf.value);
      return values;
    }
    const auto value = toml_value(node);
    if (!value) fail(node, "a value is expected");
    if (to.empty()) values.emplace_back("", *value);  // of a name that the rule defines
    for (const std::string& key : to) values.emplace_back(key, *value);
    return values;
  }

  ImportRule read_rule(const toml::table& table) const {
    check_keys(table, {"from", "to", "values", "set", "open", "list", "pattern", "times", "over", "when", "define",
                       "why", "otherwise"});
    ImportRule rule;
    rule.from = text(table, "from"), rule.why = text(table, "why"), rule.otherwise = text(table, "otherwise");
    rule.to = texts(table, "to");
    rule.pattern = text(table, "pattern"), rule.define = text(table, "define");
    rule.times = texts(table, "times"), rule.over = texts(table, "over");
    rule.open = table["open"].value_or(false), rule.list = table["list"].value_or(false);
    if (const toml::node* values = table.get("values")) {
      for (const auto& [key, node] : as_table(*values)) rule.values[std::string(key.str())] = imported(node, rule.to);
    }
    if (const toml::node* set = table.get("set")) rule.values["*"] = imported(as_table(*set), {});
    if (const toml::node* when = table.get("when")) {
      for (const auto& [key, leaf] : toml_layer(as_table(*when), file_).leaves) rule.when[key] = patterns(*when, leaf);
    }
    if (rule.from.empty() && rule.values.empty()) fail(table, "a rule without `from` has `set`");
    for (const auto& [text, imported] : rule.values) {
      if (rule.define.empty() && !imported.empty() && imported.front().first.empty())
        fail(table, "the rule has no `to`, so its values are tables of our keys");
    }
    if (rule.to.empty() && (rule.open || rule.list || !rule.pattern.empty())) fail(table, "the rule has no `to`");
    if (!rule.has_counterpart() && rule.why.empty()) fail(table, "a rule without a counterpart says `why`");
    return rule;
  }

  const fs::path& file_;
};

bool recognises(const ImportTable& table, const ForeignSettings& settings) {
  const auto is_there = [&](const std::string& key) { return settings.find(key) != nullptr; };
  return !table.has.empty() && std::ranges::all_of(table.has, is_there) && std::ranges::none_of(table.lacks, is_there);
}

}  // namespace

bool fits(std::string_view text, std::string_view pattern) {
  const auto lower = [](std::string_view mixed) {
    std::string low(mixed);
    std::ranges::transform(low, low.begin(), [](unsigned char c) { return std::tolower(c); });
    return low;
  };
  return matches_wildcards(lower(text), lower(pattern));
}

bool ImportTable::knows(const std::string& key) const {
  return std::ranges::any_of(rules, [&](const ImportRule& rule) {
    return rule.from == key || rule.from.starts_with(key + ".") ||
           (rule.from.find('*') != std::string::npos && fits(key, rule.from));
  });
}

ImportTable read_import_table(const fs::path& file) { return TableReader(file).read(); }

std::vector<ImportTable> shipped_import_tables() {
  std::vector<ImportTable> tables;
  for (const auto& entry : fs::directory_iterator(share_folder() / "configs" / "import")) {
    if (entry.path().extension() != ".toml") continue;
    ImportTable table = read_import_table(entry.path());
    if (!table.name.empty()) tables.push_back(std::move(table));  // without a name: only extended by others
  }
  std::ranges::sort(tables, {}, &ImportTable::name);
  return tables;
}

const ImportTable& table_for(const std::vector<ImportTable>& tables, const ForeignSettings& settings,
                             const std::string& name) {
  std::vector<std::string> names;
  for (const ImportTable& table : tables) names.push_back(table.name);
  if (!name.empty()) {
    const auto found = std::ranges::find(tables, name, &ImportTable::name);
    if (found == tables.end()) throw Error("no table is called " + quoted_name(name), name_hint(name, names, "tables"));
    return *found;
  }
  const ImportTable* best = nullptr;
  std::ptrdiff_t most = -1;
  std::vector<std::string> equal;
  for (const ImportTable& table : tables) {
    if (!recognises(table, settings)) continue;
    const auto known =
        std::ranges::count_if(settings.values, [&](const auto& value) { return table.knows(value.first); });
    if (known > most) best = &table, most = known, equal.clear();
    if (known == most) equal.push_back(table.name);
  }
  if (best == nullptr)
    throw Error(quoted_name(settings.files.front()) + ": not a configuration of a known program, by its keys",
                "say whose it is: --from " + joined(names, "|"));
  if (equal.size() > 1)
    throw Error(quoted_name(settings.files.front()) + ": may be for several programs",
                "say which: --from " + joined(equal, "|"));
  return *best;
}

}  // namespace drift
