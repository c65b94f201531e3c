#include <core/grid/grid.h>

#include <core/grid/cell_mistakes.h>

#include <algorithm>

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

}  // namespace

std::string GridAxis::label(std::size_t value) const {
  const std::string key(name_of(name));
  return (is_key && key != "name" ? key + "=" : "") + values[value].name;
}

std::vector<GridCell> expand_grid(const Grid& grid) {
  std::vector<GridCell> cells = {{}};
  for (const GridAxis& axis : grid.axes) {
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

void for_every_cell(const std::vector<GridCell>& cells, const std::function<void(std::size_t)>& action) {
  CellMistakes mistakes(cells.size());
  for (std::size_t cell = 0; cell < cells.size(); ++cell) mistakes.collect(cells[cell].label, [&] { action(cell); });
  mistakes.throw_if_any();
}

}  // namespace drift
