#include <core/sweep/run_lines.h>

#include <core/config/document.h>

#include <drift/error.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAlgorithm = "algorithm.name";

struct Numbered {
  RunLine line;
  std::size_t argument;  ///< that its first run came with
};

const ComparedRun& first_of(const Numbered& numbered) { return numbered.line.runs.front(); }

/// Empty where a run has no such key.
std::string value_of(const ComparedRun& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? "" : found->second;
}

/// Of the name of a part, as algorithm.masking.name, there are more than of the whole's.
std::ptrdiff_t points(const std::string& key) { return std::ranges::count(key, '.'); }

/// Keys in which lines differ. Those that choose a component or a preset come first: others follow from them.
std::vector<std::string> varying_keys(const std::vector<Numbered>& lines) {
  std::set<std::string> keys;
  for (const Numbered& line : lines) {
    for (const auto& [key, value] : first_of(line).settings) keys.insert(key);
  }
  std::vector<std::string> varying;
  for (const std::string& key : keys) {
    if (std::ranges::any_of(lines, [&](const Numbered& line) {
          return value_of(first_of(line), key) != value_of(first_of(lines.front()), key);
        }))
      varying.push_back(key);
  }
  const auto presets = std::ranges::stable_partition(varying, [](const auto& key) { return key.ends_with(".name"); });
  std::ranges::stable_sort(varying.begin(), presets.begin(), {}, points);  // an algorithm before its parts
  std::ranges::stable_partition(presets, [](const auto& key) { return key.ends_with(".preset"); });
  return varying;
}

/// What the lines are called by some keys.
std::set<std::vector<std::string>> distinct(const std::vector<Numbered>& lines, const std::vector<std::string>& keys) {
  std::set<std::vector<std::string>> all;
  for (const Numbered& line : lines) {
    std::vector<std::string> values = {first_of(line).name};
    for (const std::string& key : keys) values.push_back(value_of(first_of(line), key));
    all.insert(std::move(values));
  }
  return all;
}

/// Of the keys in which lines differ, enough to tell all of them apart, each of which tells more of them apart.
std::vector<std::string> telling_keys(const std::vector<Numbered>& lines, const std::vector<std::string>& varying) {
  std::vector<std::string> keys;
  std::size_t apart = distinct(lines, keys).size();
  for (const std::string& key : varying) {
    keys.push_back(key);
    const std::size_t now = distinct(lines, keys).size();
    if (now == apart) keys.pop_back();
    apart = now;
  }
  const auto is_part = [](const std::string& key) { return key.starts_with("algorithm.") && key.ends_with(".name"); };
  if (std::ranges::any_of(keys, is_part) && std::ranges::count(keys, kAlgorithm) == 0)
    keys.insert(keys.begin(), kAlgorithm);
  return keys;
}

/// A TOML value as people say it: without quotes, of a path its last part.
std::string spoken_value(const std::string& toml) {
  if (toml.size() < 2 || (toml.front() != '"' && toml.front() != '\'')) return toml;
  const std::string text = toml.substr(1, toml.size() - 2);
  const std::string file = text.starts_with('/') ? fs::path(text).filename().string() : "";
  return file.empty() ? text : file;
}

std::string label_of(const ComparedRun& run, const std::vector<std::string>& keys) {
  std::string label = run.name;
  for (const std::string& key : keys) {
    const std::string value = spoken_value(value_of(run, key));
    if (value.empty()) continue;
    const auto same_name = [&](const std::string& other) { return name_of(other) == name_of(key); };
    const std::string shown = std::ranges::count_if(keys, same_name) > 1 ? key : std::string(name_of(key));
    const bool is_name = key.ends_with(".name");
    const std::string part = points(key) > 1 ? std::string(name_of(section_of(key))) + " " : "";  // "masking "
    label += (label.empty() ? "" : ", ") + (is_name ? part + value : shown + "=" + value);
  }
  return label.empty() ? run.folder.filename().string() : label;
}

bool before(const std::string& a, const std::string& b) {
  double first = 0, second = 0;
  const auto is_number = [](const std::string& text, double& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  };
  return is_number(a, first) && is_number(b, second) ? first < second : a < b;
}

void sort_lines(std::vector<Numbered>& lines, const std::vector<std::string>& keys) {
  std::ranges::stable_sort(lines, [&](const Numbered& a, const Numbered& b) {
    if (a.argument != b.argument) return a.argument < b.argument;
    if (!first_of(a).baseline.empty()) return false;  // as the sweep has them
    for (const std::string& key : keys) {
      const std::string first = value_of(first_of(a), key), second = value_of(first_of(b), key);
      if (first != second) return before(first, second);
    }
    return false;
  });
}

void add(std::vector<Numbered>& lines, ComparedRun run, std::size_t argument) {
  const auto same = std::ranges::find_if(lines, [&](const Numbered& line) {
    return first_of(line).name == run.name && first_of(line).settings == run.settings;
  });
  if (same == lines.end()) {
    lines.push_back({{"", {std::move(run)}}, argument});
    return;
  }
  std::vector<ComparedRun>& runs = same->line.runs;
  const auto place = std::ranges::lower_bound(runs, run.seed, {}, &ComparedRun::seed);
  if (place == runs.end() || place->seed != run.seed) {
    runs.insert(place, std::move(run));
  } else if (fs::weakly_canonical(place->folder) != fs::weakly_canonical(run.folder)) {
    throw Error(place->folder.string() + " and " + run.folder.string() + " are the same run: equal settings, seed " +
                    std::to_string(run.seed),
                "leave one out, or give them names to compare them: drift report old=" + place->folder.string() +
                    " new=" + run.folder.string());
  }
}

/// "ours=runs/a" -> its two parts, unless there is a folder of just this name.
std::pair<std::string, fs::path> name_and_folder(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || fs::exists(argument)) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::map<std::int64_t, double> by_seed(const RunLine& line, const SweepMeasure& measure) {
  std::map<std::int64_t, double> values;
  for (const ComparedRun& run : line.runs) {
    if (run.finished()) values[run.seed] = measure.of(run.record);
  }
  return values;
}

}  // namespace

std::int64_t RunLine::finished() const { return std::ranges::count_if(runs, &ComparedRun::finished); }

Estimate RunLine::over_finished(const std::function<double(const ComparedRun&)>& value) const {
  std::vector<double> values;
  for (const ComparedRun& run : runs) {
    if (run.finished()) values.push_back(value(run));
  }
  return estimate(values);
}

Estimate RunLine::over_finished(double RunNumbers::*number) const {
  return over_finished([=](const ComparedRun& run) { return run.record.*number; });
}

Estimate RunLine::over_finished(const SweepMeasure& measure) const {
  return over_finished([&](const ComparedRun& run) { return measure.of(run.record); });
}

Estimate RunLine::difference_to(const RunLine& other, const SweepMeasure& measure) const {
  return paired_difference(by_seed(*this, measure), by_seed(other, measure));
}

std::vector<RunLine> run_lines(std::vector<std::vector<ComparedRun>> arguments) {
  std::vector<Numbered> numbered;
  for (std::size_t argument = 0; argument < arguments.size(); ++argument) {
    for (ComparedRun& run : arguments[argument]) add(numbered, std::move(run), argument);
  }
  const std::vector<std::string> keys = telling_keys(numbered, varying_keys(numbered));
  sort_lines(numbered, keys);
  std::vector<RunLine> lines;
  for (Numbered& line : numbered) {
    line.line.label = label_of(first_of(line), keys);
    lines.push_back(std::move(line.line));
  }
  for (RunLine& line : lines) {
    const auto baseline = std::ranges::find_if(
        lines, [&](const RunLine& other) { return other.runs.front().name == line.runs.front().baseline; });
    if (line.runs.front().baseline.empty()) continue;
    line.baseline = baseline != lines.end() ? baseline->label : line.label;  // none of its runs has begun
  }
  return lines;
}

std::vector<RunLine> run_lines(const std::vector<std::string>& arguments) {
  std::vector<std::vector<ComparedRun>> runs;
  for (const std::string& argument : arguments) {
    const auto [name, folder] = name_and_folder(argument);
    runs.emplace_back();
    for (const IndexedRun& found : runs_in(folder)) {
      const std::string prefix = name.empty() || found.cell.empty() ? name : name + ", ";
      ComparedRun& run = runs.back().emplace_back(read_compared_run(found.folder));
      run.name = prefix + found.cell;
      run.baseline = found.baseline.empty() ? "" : prefix + found.baseline;
    }
  }
  return run_lines(std::move(runs));
}

}  // namespace drift
