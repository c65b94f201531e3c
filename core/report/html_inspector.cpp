#include <core/io/json.h>
#include <core/report/html_parts.h>

#include <core/report/format.h>
#include <core/report/html.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSteps = 24;
constexpr std::uintmax_t kMostBytes = 8 << 20;

/// In the order of their steps, which is that of their names up to a million steps.
std::vector<fs::path> inspected_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("step-") && name.ends_with(".json")) files.push_back(entry->path());
  }
  std::ranges::sort(files, [](const fs::path& a, const fs::path& b) {
    const std::string first = a.filename().string(), second = b.filename().string();
    return first.size() != second.size() ? first.size() < second.size() : first < second;
  });
  return files;
}

/// `count` of them, with the first and the last.
std::vector<fs::path> evenly(const std::vector<fs::path>& files, std::size_t count) {
  std::vector<fs::path> chosen;
  for (std::size_t i = 0; i < count; ++i)
    chosen.push_back(files[count == 1 ? files.size() - 1 : i * (files.size() - 1) / (count - 1)]);
  return chosen;
}

/// Of those that are not too large by themselves.
std::vector<fs::path> that_fit(std::vector<fs::path> files) {
  std::erase_if(files, [](const fs::path& file) { return fs::file_size(file) > kMostBytes; });
  for (std::size_t count = std::min(files.size(), kMostSteps); count > 1; count /= 2) {
    const auto chosen = evenly(files, count);
    std::uintmax_t bytes = 0;
    for (const fs::path& file : chosen) bytes += fs::file_size(file);
    if (bytes <= kMostBytes) return chosen;
  }
  return files.empty() ? files : evenly(files, 1);
}

/// JSON for an element of a page that is XML too: in JSON, these characters are in texts only.
std::string for_page(const nlohmann::json& value) {
  std::string text;
  for (const char c : value.dump(-1, ' ', /*ensure_ascii=*/true)) {
    switch (c) {
      case '<': text += "\\u003c"; break;
      case '>': text += "\\u003e"; break;
      case '&': text += "\\u0026"; break;
      default: text += c;
    }
  }
  return text;
}

}  // namespace

HtmlInspector html_inspector(const fs::path& folder) {
  const auto files = inspected_files(folder), chosen = that_fit(files);
  HtmlInspector inspector;
  for (const fs::path& file : chosen) {
    const auto step =
        parse_json_object(read_json_text(file), file.string(), "remove the file to write the report without it");
    inspector.body += "<script type=\"application/json\" class=\"inspected\">" + for_page(step) + "</script>\n";
  }
  if (!chosen.empty()) {
    inspector.body += "<div class=\"inspector\"><p class=\"lead\">A script shows the groups.</p></div>";
  } else if (!files.empty()) {
    inspector.body = "<p class=\"lead\">The inspected steps are too large for a page: they are in inspect/.</p>";
  }
  if (chosen.size() < files.size()) {
    const auto number = [](std::size_t count) { return format_integer(static_cast<long long>(count)); };
    inspector.note =
        number(chosen.size()) + " of " + number(files.size()) + " inspected steps; the others are in inspect/";
  }
  return inspector;
}

}  // namespace drift
