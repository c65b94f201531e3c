#include <core/eval/published.h>

#include <core/config/nearest.h>
#include <core/io/atomic.h>

#include <drift/error.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>

namespace drift {
namespace {

const std::map<std::string, PublishedRole> kRoles = {{"base", PublishedRole::kBase},
                                                     {"method", PublishedRole::kMethod},
                                                     {"proposed", PublishedRole::kProposed},
                                                     {"difference", PublishedRole::kDifference}};

/// Cells of one line; a cell in double quotes may hold commas, and "" for a quote.
std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

template <class T>
T number(std::string_view text, const std::string& column) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error("`" + column + "` is not a number: `" + std::string(text) + "`");
  return value;
}

PublishedFigure figure_of(const std::map<std::string, std::string>& cells) {
  PublishedFigure figure;
  figure.backbone = cells.at("backbone");
  figure.method = cells.at("method");
  const auto role = kRoles.find(cells.at("role"));
  if (role == kRoles.end())
    throw Error("unknown role `" + cells.at("role") + "`", "base, method, proposed or difference");
  figure.role = role->second;
  figure.cell = {cells.at("task"), number<std::int64_t>(cells.at("length"), "length"), cells.at("schedule")};
  figure.value = number<double>(cells.at("value"), "value");
  return figure;
}

bool same_cell(const EvaluationCell& a, const EvaluationCell& b) {
  return a.task == b.task && a.length == b.length && a.schedule == b.schedule;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::vector<PublishedFigure> read_published(const std::filesystem::path& file) {
  std::istringstream text(read_whole_file(file));
  std::vector<PublishedFigure> figures;
  std::vector<std::string> titles;
  std::string line;
  for (int place = 1; std::getline(text, line); ++place) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string> cells = split_csv(line);
    try {
      if (titles.empty()) {
        titles = cells;
        for (const char* wanted : {"backbone", "method", "role", "task", "length", "schedule", "value"}) {
          if (std::ranges::count(titles, wanted) != 1)
            throw Error("the column `" + std::string(wanted) + "` is missing");
        }
        continue;
      }
      if (cells.size() != titles.size())
        throw Error(std::to_string(cells.size()) + " cells, but the first line has " + std::to_string(titles.size()));
      std::map<std::string, std::string> named;
      for (std::size_t i = 0; i < cells.size(); ++i) named[titles[i]] = cells[i];
      figures.push_back(figure_of(named));
    } catch (const Error& error) {
      throw Error(file.string() + ":" + std::to_string(place) + ": " + error.what(), error.hint());
    }
  }
  return figures;
}

std::vector<PublishedFigure> figures_of(const std::vector<PublishedFigure>& all, const std::string& backbone) {
  std::vector<PublishedFigure> own;
  std::ranges::copy_if(all, std::back_inserter(own),
                       [&](const PublishedFigure& figure) { return lower(figure.backbone) == lower(backbone); });
  return own;
}

const PublishedFigure* find_figure(const std::vector<PublishedFigure>& figures, const std::string& method,
                                   const EvaluationCell& cell) {
  const auto found = std::ranges::find_if(
      figures, [&](const PublishedFigure& figure) { return figure.method == method && same_cell(figure.cell, cell); });
  return found == figures.end() ? nullptr : &*found;
}

const PublishedFigure* find_figure(const std::vector<PublishedFigure>& figures, PublishedRole role,
                                   const EvaluationCell& cell) {
  const auto found = std::ranges::find_if(
      figures, [&](const PublishedFigure& figure) { return figure.role == role && same_cell(figure.cell, cell); });
  return found == figures.end() ? nullptr : &*found;
}

}  // namespace drift
