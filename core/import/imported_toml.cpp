#include <core/base/quote.h>
#include <core/config/document.h>
#include <core/config/nearest.h>
#include <core/config/schema.h>
#include <core/import/import_run.h>

#include <drift/error.h>

#include <algorithm>
#include <map>

namespace drift {
namespace {

constexpr std::size_t kWidestValue = 48;  ///< comments of longer lines stand behind them

std::string comment_of(const ImportedValue& value) {
  return "# origin: " + on_one_line(value.origin) + (value.remark.empty() ? "" : "; " + on_one_line(value.remark));
}

/// Lines with their comments in one column.
std::string aligned(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::size_t width = 0;
  for (const auto& [line, comment] : lines) {
    if (line.size() <= kWidestValue) width = std::max(width, line.size());
  }
  std::string text;
  for (const auto& [line, comment] : lines) {
    text += line + std::string(line.size() < width ? width - line.size() : 0, ' ') + "   " + comment + "\n";
  }
  return text;
}

std::string extended_files(const ImportedRun& run) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const ImportedValue& value : run.values) {
    if (value.key == "extends") lines.emplace_back("  " + to_toml(value.value) + ",", comment_of(value));
  }
  return lines.empty() ? "" : "\nextends = [\n" + aligned(lines) + "]\n";
}

/// Sections in the order of the reference, those of a family after it.
std::vector<std::string> sections_of(const ImportedRun& run) {
  std::vector<std::string> sections;
  for (const ImportedValue& value : run.values) {
    const std::string section(section_of(value.key));
    if (value.key != "extends" && std::ranges::count(sections, section) == 0) sections.push_back(section);
  }
  const auto place = [](const std::string& section) {
    const auto& known = config_sections();
    const SectionSchema* schema = find_section(section);
    return std::ranges::find_if(known, [&](const SectionSchema& one) { return &one == schema; }) - known.begin();
  };
  std::ranges::stable_sort(sections, {}, place);
  return sections;
}

std::string left_out_lines(const std::string& title, const std::vector<LeftOut>& left_out) {
  if (left_out.empty()) return "";
  std::string text = "\n# " + title + ":\n";
  for (const LeftOut& one : left_out)
    text += "#   " + on_one_line(one.what) + (one.why.empty() ? "" : ": " + on_one_line(one.why)) + "\n";
  return text;
}

}  // namespace

std::string toml_of(const ImportedRun& run, const ImportTable& table, const ForeignSettings& settings,
                    const std::string& command) {
  std::string text = "# From " + joined(settings.files, " over ") + ", a configuration of " + table.title + " (" +
                     table.repository + "), by\n#   " + on_one_line(command) +
                     "\n# The origin of each value is its file, line and key. What has no counterpart is at the end.\n";
  text += extended_files(run);
  for (const std::string& section : sections_of(run)) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const ImportedValue& value : run.values) {
      if (value.key != "extends" && section_of(value.key) == section)
        lines.emplace_back(std::string(name_of(value.key)) + " = " + to_toml(value.value), comment_of(value));
    }
    // What chooses a component stands before its parameters.
    std::ranges::stable_partition(lines, [](const auto& line) { return line.first.starts_with("name = "); });
    text += "\n[" + section + "]\n" + aligned(lines);
  }
  std::vector<LeftOut> remarks, needed;
  for (const std::string& remark : run.remarks) remarks.push_back({remark, ""});
  for (const std::string& what : run.needed) needed.push_back({what, ""});
  return text + left_out_lines("Without a counterpart", run.left_out) +
         left_out_lines("Not known, and so not imported", run.unknown) + left_out_lines("Not read", remarks) +
         left_out_lines("The run still needs", needed);
}

}  // namespace drift
