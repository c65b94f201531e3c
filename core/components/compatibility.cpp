#include <core/components/compatibility.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace drift {
namespace {

struct Column {
  std::string name;
  std::unique_ptr<Component> component;
};

std::vector<Column> with_defaults(const Registry& registry, ComponentKind kind) {
  std::vector<Column> columns;
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.kind == kind) columns.push_back({entry.name, entry.create(Params(entry.params), nullptr)});
  }
  std::sort(columns.begin(), columns.end(), [](const Column& a, const Column& b) { return a.name < b.name; });
  return columns;
}

std::string row(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line = "|";
  for (std::size_t c = 0; c < cells.size(); ++c)
    line += " " + cells[c] + std::string(widths[c] - cells[c].size(), ' ') + " |";
  return line + "\n";
}

}  // namespace

std::string mismatch(const MaskingStrategy& masking, const LossEstimator& loss) {
  LossNeeds needs;
  loss.needs(needs);
  PlanOffers offers;
  masking.offers(offers);
  if (needs.complementary_views && !offers.complementary_views) {
    return "needs views in pairs whose masks are complementary, which the masking strategy does not draw";
  }
  return {};
}

std::string compatibility_table(const Registry& registry) {
  const auto strategies = with_defaults(registry, ComponentKind::kMaskingStrategy);
  const auto losses = with_defaults(registry, ComponentKind::kLossEstimator);
  std::vector<std::string> head{"masking \\ loss"};
  for (const Column& loss : losses) head.push_back(loss.name);
  std::vector<std::size_t> widths;
  for (const std::string& cell : head) widths.push_back(std::max<std::size_t>(cell.size(), 3));
  for (const Column& masking : strategies) widths[0] = std::max(widths[0], masking.name.size());

  std::string table = row(head, widths) + "|";
  for (const std::size_t width : widths) table += " " + std::string(width, '-') + " |";
  table += "\n";
  for (const Column& masking : strategies) {
    std::vector<std::string> cells{masking.name};
    for (const Column& loss : losses) {
      const bool fits = mismatch(dynamic_cast<const MaskingStrategy&>(*masking.component),
                                 dynamic_cast<const LossEstimator&>(*loss.component))
                            .empty();
      cells.push_back(fits ? "yes" : "no");
    }
    table += row(cells, widths);
  }
  return table;
}

}  // namespace drift
