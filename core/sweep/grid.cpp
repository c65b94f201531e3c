#include <core/sweep/grid.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace drift {
namespace {

/// What the file says of the grid is no business of its cells.
void remove_section(ConfigLayer& layer, const std::string& section) {
  const auto is_inside = [&](const auto& entry) {
    return entry.first == section || entry.first.starts_with(section + ".");
  };
  std::erase_if(layer.leaves, is_inside);
  std::erase_if(layer.tables, is_inside);
}

bool holds(const GridException& exception, const Grid& grid, const GridCell& cell) {
  for (std::size_t axis = 0; axis < grid.axes.size(); ++axis) {
    const auto wanted = exception.where.find(grid.axes[axis].name);
    if (wanted == exception.where.end()) continue;
    if (std::ranges::count(wanted->second, grid.axes[axis].values[cell.values[axis]].name) == 0) return false;
  }
  return true;
}

ConfigDocument cell_document(const Grid& grid, const GridCell& cell) {
  std::vector<ExtendedFile> files;
  std::vector<ConfigLayer> settings;
  for (std::size_t axis = 0; axis < grid.axes.size(); ++axis) {
    const GridValue& value = grid.axes[axis].values[cell.values[axis]];
    files.insert(files.end(), value.extends.begin(), value.extends.end());
    settings.push_back(value.settings);
    for (const GridException& exception : value.exceptions) {
      if (holds(exception, grid, cell)) settings.push_back(exception.settings);
    }
  }
  ConfigDocument document = load_document(grid.file, grid.overrides, files);
  remove_section(*(document.layers.end() - 2), grid.section);
  document.layers.insert(document.layers.end() - 1, settings.begin(), settings.end());
  return document;
}

/// The mistakes of many configurations, each once.
class Mistakes {
 public:
  void add(const std::string& cell, const Diagnostic& diagnostic) {
    const std::string text = render(diagnostic, false);
    const auto [place, is_new] = places_.emplace(text, found_.size());
    if (is_new) found_.push_back({diagnostic, {}});
    std::vector<std::string>& cells = found_[place->second].cells;
    if (cells.empty() || cells.back() != cell) cells.push_back(cell);
  }

  void throw_if_any(std::size_t cells) {
    std::vector<Diagnostic> all;
    for (Found& found : found_) {
      if (found.cells.size() < cells) found.diagnostic.notes.push_back(where(found.cells, cells));
      all.push_back(std::move(found.diagnostic));
    }
    if (!all.empty()) throw ConfigError(std::move(all));
  }

 private:
  struct Found {
    Diagnostic diagnostic;
    std::vector<std::string> cells;
  };

  static std::string where(const std::vector<std::string>& found, std::size_t cells) {
    constexpr std::size_t kNamed = 3;
    std::string text = "in " + std::to_string(found.size()) + " of " + std::to_string(cells) + " cells: ";
    for (std::size_t i = 0; i < std::min(found.size(), kNamed); ++i) text += (i > 0 ? "; " : "") + found[i];
    return text + (found.size() > kNamed ? "; …" : "");
  }

  std::unordered_map<std::string, std::size_t> places_;  ///< of a mistake's text in found_
  std::vector<Found> found_;
};

}  // namespace

std::string GridAxis::label(std::size_t value) const {
  const std::string key(name_of(name));
  return (is_key && key != "name" ? key + "=" : "") + values[value].name;
}

std::vector<GridCell> expand_grid(const Grid& grid) {
  std::vector<GridCell> cells = {{}};
  for (const GridAxis& axis : grid.axes) {
    if (cells.size() * axis.values.size() > kMostCells)
      throw Error(
          grid.file.string() + ": [" + grid.section + "] makes more than " + std::to_string(kMostCells) + " cells",
          "divide it into several files");
    std::vector<GridCell> longer;
    for (const GridCell& cell : cells) {
      for (std::size_t value = 0; value < axis.values.size(); ++value) {
        GridCell next = cell;
        next.values.push_back(value);
        next.label += (next.label.empty() ? "" : ", ") + axis.label(value);
        longer.push_back(std::move(next));
      }
    }
    cells = std::move(longer);
  }
  if (grid.axes.empty()) cells.front().label = grid.name;
  return cells;
}

std::vector<ConfigDocument> cell_documents(const Grid& grid, const std::vector<GridCell>& cells) {
  std::vector<ConfigDocument> documents;
  for_every_cell(cells, [&](std::size_t cell) { documents.push_back(cell_document(grid, cells[cell])); });
  return documents;
}

void for_every_cell(const std::vector<std::string>& labels, const std::function<void(std::size_t)>& action) {
  Mistakes mistakes;
  for (std::size_t cell = 0; cell < labels.size(); ++cell) {
    try {
      action(cell);
    } catch (const ConfigError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) mistakes.add(labels[cell], diagnostic);
    } catch (const Error& error) {
      Diagnostic diagnostic;
      diagnostic.message = error.what();
      if (!error.hint().empty()) diagnostic.notes = {error.hint()};
      mistakes.add(labels[cell], diagnostic);
    }
  }
  mistakes.throw_if_any(labels.size());
}

void for_every_cell(const std::vector<GridCell>& cells, const std::function<void(std::size_t)>& action) {
  std::vector<std::string> labels;
  for (const GridCell& cell : cells) labels.push_back(cell.label);
  for_every_cell(labels, action);
}

}  // namespace drift
