#include <core/import/foreign_settings.h>

#include <core/base/quote.h>
#include <core/config/nearest.h>
#include <core/io/atomic.h>
#include <core/text/utf8.h>

#include <drift/error.h>

#include <algorithm>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestForeignFile = std::size_t{1} << 20;

bool is_yaml(const fs::path& file) { return file.extension() == ".yaml" || file.extension() == ".yml"; }

std::string read_foreign_file(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored))
    throw Error("cannot read " + quoted_name(file.string()), "name a YAML file or a shell script");
  std::string text = read_whole_file(file, kLargestForeignFile);
  if (!is_valid_utf8(text)) throw Error(quoted_name(file.string()) + " is not UTF-8", "TOML can hold no other text");
  return text;
}

/// Where a script's base lies: scripts run in the folder of the script, in one above it, or in the present one.
fs::path base_of(const fs::path& script, const std::string& named) {
  std::error_code ignored;
  if (fs::is_regular_file(named, ignored)) return named;
  for (fs::path folder = fs::absolute(script).parent_path();; folder = folder.parent_path()) {
    const fs::path found = (folder / named).lexically_normal();
    if (fs::is_regular_file(found, ignored)) {
      const fs::path near = found.lexically_proximate(fs::current_path());
      return *near.begin() == ".." ? found : near;  // messages name it
    }
    if (folder == folder.root_path()) break;
  }
  throw Error(quoted_name(script.string()) + " goes over " + quoted_name(named) + ", which is not there",
              "put it where the script finds it: below the script's folder, one above it, or the present one");
}

void add_script(const fs::path& file, const std::string& text, ForeignSettings& settings) {
  const auto words = longest_command(text, file.string(), settings.remarks);
  auto options = options_of(words, file.string());
  const auto base = std::ranges::find(options, "config", &std::pair<std::string, ForeignValue>::first);
  if (base != options.end() && !base->second.is_null()) {
    const fs::path below = base_of(file, base->second.texts.front());
    settings.files.push_back(below.string());
    add_yaml(read_foreign_file(below), below.string(), settings);
  }
  for (auto& [key, value] : options) {
    if (key != "config") settings.set(key, std::move(value));
  }
}

}  // namespace

std::string ForeignValue::text() const { return is_null() ? "null" : joined(texts); }

void ForeignSettings::set(const std::string& key, ForeignValue value) {
  const auto found = std::ranges::find(values, key, &std::pair<std::string, ForeignValue>::first);
  if (found == values.end()) {
    values.emplace_back(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

const ForeignValue* ForeignSettings::find(std::string_view key) const {
  const auto found = std::ranges::find(values, key, &std::pair<std::string, ForeignValue>::first);
  return found == values.end() ? nullptr : &found->second;
}

ForeignSettings read_foreign_settings(const fs::path& file, const std::vector<std::string>& words) {
  ForeignSettings settings;
  settings.files.push_back(file.string());
  const std::string text = read_foreign_file(file);
  if (is_yaml(file)) {
    add_yaml(text, file.string(), settings);
  } else if (text.starts_with("#!") || text.find("--") != std::string::npos ||
             text.find("config=") != std::string::npos) {
    add_script(file, text, settings);
  } else {
    throw Error(quoted_name(file.string()) + " is neither YAML nor a shell script with a command",
                "files with settings end in .yaml or .yml");
  }
  std::vector<ShellWord> given;
  for (const std::string& word : words) given.push_back({valid_utf8(word)});
  for (auto& [key, value] : options_of(given, "")) settings.set(key, std::move(value));
  return settings;
}

}  // namespace drift
