#include <core/update/update_passes.h>

#include <core/boundary/checked.h>
#include <core/update/policy_scores.h>

#include <algorithm>
#include <utility>

namespace drift {
namespace {

/// The smallest sets of views that a loss of this coupling can be asked about.
std::vector<Views> coupled_units(const MaskPlan& plan, Coupling coupling) {
  if (coupling == Coupling::kBatch) return {all_views(plan)};
  const std::int64_t* response = plan.response_F.const_data_ptr<std::int64_t>();
  Views order = all_views(plan);
  // Neighbours show the same contexts, so views of one response go together even if the loss does not require it.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return response[a] < response[b]; });
  std::vector<Views> units;
  for (const std::int64_t view : order) {
    const bool joins =
        coupling == Coupling::kResponse && !units.empty() && response[units.back().front()] == response[view];
    if (!joins) units.emplace_back();
    units.back().push_back(view);
  }
  return units;
}

std::int64_t count_views(const std::vector<Views>& units) {
  std::int64_t count = 0;
  for (const Views& unit : units) count += static_cast<std::int64_t>(unit.size());
  return count;
}

}  // namespace

UpdateMemory divide_memory(const Model& model, std::int64_t sequence, std::int64_t scored_tokens,
                           std::int64_t memory_budget) {
  UpdateMemory memory;
  const auto& traits = model.traits();
  const auto element = static_cast<std::int64_t>(model.lm_head_VH().element_size());
  const std::int64_t logits = traits.vocabulary_size * element;
  const std::int64_t for_logits = std::min(memory_budget / 4, scored_tokens * logits);
  memory.logit_rows = std::max<std::int64_t>(1, for_logits / logits);

  const std::int64_t for_rows = memory_budget - for_logits, graph = checked_bytes_per_row(model, sequence);
  memory.rows = for_rows / graph;
  memory.recomputed_rows = std::max<std::int64_t>(1, for_rows / recomputed_row_bytes(model, sequence));
  return memory;
}

std::int64_t recomputed_row_bytes(const Model& model, std::int64_t sequence) {
  const auto& traits = model.traits();
  const auto element = static_cast<std::int64_t>(model.lm_head_VH().element_size());
  const std::int64_t layers = std::max<std::int64_t>(1, traits.layers);
  // In a block that is computed again, its graph and about half as much of gradients live together.
  return layers * sequence * traits.hidden_size * element + checked_bytes_per_row(model, sequence) / layers * 3 / 2;
}

Views UpdatePass::views() const {
  Views all;
  for (const Views& unit : units) all.insert(all.end(), unit.begin(), unit.end());
  return all;
}

std::int64_t UpdatePass::most_tokens(std::int64_t sequence) const {
  return std::min(kTokensPerForward, rows_at_once * sequence);
}

std::vector<UpdatePass> plan_passes(const MaskPlan& plan, Coupling coupling, const UpdateMemory& memory,
                                    std::int64_t ranks) {
  // Each rank has as many of the rows, of which there are at most as many as views.
  const std::int64_t rows = ranks * memory.rows, recomputed = ranks * memory.recomputed_rows;
  std::vector<UpdatePass> passes;
  for (Views& unit : coupled_units(plan, coupling)) {
    const auto size = static_cast<std::int64_t>(unit.size());
    UpdatePass pass;
    pass.recompute = size > rows && (size <= recomputed || rows == 0);
    pass.rows_at_once = pass.recompute ? memory.recomputed_rows : memory.rows;
    pass.scores_first = size > ranks * pass.rows_at_once;
    const bool joins = !passes.empty() && !pass.scores_first && !passes.back().scores_first &&
                       passes.back().recompute == pass.recompute &&
                       count_views(passes.back().units) + size <= ranks * pass.rows_at_once;
    if (!joins) passes.push_back(std::move(pass));
    passes.back().units.push_back(std::move(unit));
  }
  return passes;
}

std::vector<LogitChunk> chunk_units(const std::vector<Views>& units, const std::vector<std::vector<RowTarget>>& targets,
                                    std::int64_t length, std::int64_t logit_rows, std::int64_t rank_count) {
  // Of each unit: its targets by the hidden row that they read.
  std::vector<std::size_t> unit_of_view;
  for (std::size_t u = 0; u < units.size(); ++u) unit_of_view.insert(unit_of_view.end(), units[u].size(), u);
  std::vector<std::vector<std::size_t>> reads(units.size());
  const auto ranks = static_cast<std::size_t>(rank_count);
  std::vector<std::size_t> rank_of;  // of each hidden row
  for (std::size_t r = 0; r < targets.size(); ++r) {
    std::int64_t last_position = -1;
    for (const RowTarget& target : targets[r]) {
      if (target.position != last_position) rank_of.push_back(r % ranks);
      last_position = target.position;
      reads[unit_of_view[static_cast<std::size_t>(target.flat / length)]].push_back(rank_of.size() - 1);
    }
  }

  std::vector<LogitChunk> chunks;
  std::vector<std::size_t> chunk_of_row(rank_of.size(), 0);  // the last that reads it, counted from 1
  std::vector<std::int64_t> held(ranks, 0);
  std::int64_t view = 0;
  const auto most = [&] { return *std::ranges::max_element(held); };
  for (std::size_t u = 0; u < units.size(); ++u) {
    const auto take = [&](std::size_t chunk) {
      for (const std::size_t row : reads[u])
        held[rank_of[row]] += std::exchange(chunk_of_row[row], chunk) != chunk ? 1 : 0;
    };
    take(chunks.size());
    if (chunks.empty() || most() > logit_rows) {
      chunks.push_back({{view, view}, true});
      std::ranges::fill(held, 0);
      take(chunks.size());
    }
    view += static_cast<std::int64_t>(units[u].size());
    chunks.back().views.end = view;
    chunks.back().fits = most() <= logit_rows;
  }
  return chunks;
}

}  // namespace drift
