#include <core/grid/cell_mistakes.h>

#include <algorithm>
#include <utility>

namespace drift {
namespace {

constexpr std::size_t kCellsNamed = 3;

}  // namespace

void CellMistakes::collect(const std::string& cell, const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) add(cell, diagnostic);
  } catch (const Error& error) {
    Diagnostic diagnostic;
    diagnostic.message = error.what();
    if (!error.hint().empty()) diagnostic.notes = {error.hint()};
    add(cell, diagnostic);
  }
}

void CellMistakes::throw_if_any() {
  if (found_.empty()) return;
  std::vector<Diagnostic> all;
  for (Found& found : found_) {
    if (found.cells.size() < cells_) found.diagnostic.notes.push_back(where(found.cells));
    all.push_back(std::move(found.diagnostic));
  }
  throw ConfigError(std::move(all));
}

void CellMistakes::add(const std::string& cell, const Diagnostic& diagnostic) {
  const std::string text = render(diagnostic, false);
  auto same = std::ranges::find_if(found_, [&](const Found& found) { return found.text == text; });
  if (same == found_.end()) same = found_.insert(found_.end(), {text, diagnostic, {}});
  if (std::ranges::count(same->cells, cell) == 0) same->cells.push_back(cell);
}

std::string CellMistakes::where(const std::vector<std::string>& cells) const {
  std::string text = "in " + std::to_string(cells.size()) + " of " + std::to_string(cells_) + " cells: ";
  for (std::size_t i = 0; i < std::min(cells.size(), kCellsNamed); ++i) text += (i > 0 ? "; " : "") + cells[i];
  return text + (cells.size() > kCellsNamed ? "; …" : "");
}

}  // namespace drift
