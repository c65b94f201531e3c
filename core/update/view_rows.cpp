#include <core/update/view_rows.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

namespace drift {
namespace {

std::vector<std::int64_t> masked_sequence(const ModelTraits& traits, const Trajectories& trajectories,
                                          const MaskPlan& plan, std::int64_t view, std::int64_t response) {
  const std::int64_t prompt = trajectories.prompts.tokens_BP.size(1), length = trajectories.tokens_BL.size(1);
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(prompt + length));
  std::memcpy(tokens.data(), trajectories.prompts.tokens_BP.const_data_ptr<std::int64_t>() + response * prompt,
              static_cast<std::size_t>(prompt) * sizeof(std::int64_t));
  std::memcpy(tokens.data() + prompt, trajectories.tokens_BL.const_data_ptr<std::int64_t>() + response * length,
              static_cast<std::size_t>(length) * sizeof(std::int64_t));
  const bool* masked = plan.masked_FL.const_data_ptr<bool>() + view * length;
  for (std::int64_t i = 0; i < length; ++i) {
    if (masked[i]) tokens[static_cast<std::size_t>(prompt + i)] = traits.mask_id;
  }
  if (plan.prompt_masked_FP.defined()) {
    const bool* prompt_masked = plan.prompt_masked_FP.const_data_ptr<bool>() + view * prompt;
    for (std::int64_t i = 0; i < prompt; ++i) {
      if (prompt_masked[i]) tokens[static_cast<std::size_t>(i)] = traits.mask_id;
    }
  }
  return tokens;
}

/// Empty if everything is attended to.
std::vector<std::uint8_t> attended_positions(const MaskPlan& plan, std::int64_t view) {
  if (!plan.attended_FL.defined()) return {};
  const std::int64_t length = plan.attended_FL.size(1);
  const bool* begin = plan.attended_FL.const_data_ptr<bool>() + view * length;
  if (std::find(begin, begin + length, false) == begin + length) return {};
  return {begin, begin + length};
}

/// true = attended to, [N, S]; undefined if everything is.
at::Tensor key_mask(const Prompts& prompts, const std::vector<std::int64_t>& responses,
                    const std::vector<ViewRow>& rows, std::int64_t begin, std::int64_t length) {
  const auto count = static_cast<std::int64_t>(responses.size());
  const bool partly = std::any_of(rows.begin() + begin, rows.begin() + begin + count,
                                  [](const ViewRow& row) { return !row.attended.empty(); });
  const bool pads = prompts.mask_BP.defined() && !prompts.mask_BP.all().item<bool>();
  if (!partly && !pads) return {};
  const auto prompt_mask = pads ? prompts.mask_BP.index_select(0, index_tensor(responses))
                                : at::ones({count, prompts.tokens_BP.size(1)}, at::kBool);
  auto response_mask = at::ones({count, length}, at::kBool);
  for (std::int64_t r = 0; r < count; ++r) {
    const auto& attended = rows[static_cast<std::size_t>(begin + r)].attended;
    std::copy(attended.begin(), attended.end(), response_mask.data_ptr<bool>() + r * length);
  }
  return at::cat({prompt_mask, response_mask}, 1);
}

/// FNV-1a of a row's tokens, without its padding on the left.
std::uint64_t content_hash(const ViewRow& row, const Prompts& prompts) {
  std::size_t first = 0;
  if (prompts.mask_BP.defined()) {
    const std::int64_t prompt = prompts.mask_BP.size(1);
    const bool* mask = prompts.mask_BP.const_data_ptr<bool>() + row.response * prompt;
    first = static_cast<std::size_t>(std::find(mask, mask + prompt, true) - mask);
  }
  std::uint64_t hash = 0xCBF29CE484222325;
  for (std::size_t i = first; i < row.tokens.size(); ++i)
    hash = (hash ^ static_cast<std::uint64_t>(row.tokens[i])) * 0x100000001B3;
  return hash;
}

/// ForwardInput's fields for rows [begin, begin + count).
void set_adapters(const RowAdapters& adapters, const std::vector<ViewRow>& rows, std::int64_t begin, std::int64_t count,
                  const Prompts& prompts, at::Device device, ForwardInput& input) {
  if (!adapters.on) input.adapted_B = at::zeros({count}, at::kBool);
  if (!adapters.dropout) return;
  std::vector<std::int64_t> keys;
  for (std::int64_t r = begin; r < begin + count; ++r) {
    const std::uint64_t hash = content_hash(rows[static_cast<std::size_t>(r)], prompts);
    const RandomPoint point{0, static_cast<std::int64_t>(hash >> 32), static_cast<std::int64_t>(hash & 0xFFFFFFFF), 0};
    keys.push_back(static_cast<std::int64_t>(adapters.dropout->bits(point)));
  }
  input.dropout_key_B = index_tensor(keys, device);
}

}  // namespace

at::Tensor index_tensor(const std::vector<std::int64_t>& numbers, at::Device device) {
  auto tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), tensor.data_ptr<std::int64_t>());  // may be empty
  return tensor.to(device);
}

std::vector<ViewRow> distinct_view_rows(const ModelTraits& traits, const Trajectories& trajectories,
                                        const MaskPlan& plan, const std::vector<std::int64_t>& views) {
  const std::int64_t length = trajectories.tokens_BL.size(1);
  std::vector<ViewRow> rows;
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const std::int64_t view = views[v];
    const std::int64_t response = plan.response_F.const_data_ptr<std::int64_t>()[view];
    const std::int64_t group = trajectories.prompts.group_B.const_data_ptr<std::int64_t>()[response];
    auto tokens = masked_sequence(traits, trajectories, plan, view, response);
    std::string key(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(std::int64_t));
    key.append(reinterpret_cast<const char*>(&group), sizeof group);  // padding may differ between groups
    std::vector<std::uint8_t> attended = attended_positions(plan, view);
    key.append(attended.begin(), attended.end());
    const auto [found, is_new] = seen.emplace(std::move(key), rows.size());
    if (is_new) rows.push_back({response, std::move(tokens), std::move(attended), {}});
    ViewRow& row = rows[found->second];
    const bool* target = plan.target_FL.const_data_ptr<bool>() + view * length;
    const std::int64_t* written = trajectories.tokens_BL.const_data_ptr<std::int64_t>() + response * length;
    for (std::int64_t i = 0; i < length; ++i) {
      if (target[i]) row.targets.push_back({i, written[i], static_cast<std::int64_t>(v) * length + i});
    }
  }
  for (ViewRow& row : rows) {
    std::stable_sort(row.targets.begin(), row.targets.end(),
                     [](const auto& a, const auto& b) { return a.position < b.position; });
  }
  return rows;
}

std::vector<ViewRow> rows_of_this_rank(const Ranks& ranks, std::vector<ViewRow> rows) {
  if (ranks.size() == 1) return rows;
  std::vector<ViewRow> own;
  for (auto r = static_cast<std::size_t>(ranks.rank()); r < rows.size(); r += static_cast<std::size_t>(ranks.size()))
    own.push_back(std::move(rows[r]));
  return own;
}

RowBatch make_row_batch(const Model& model, const Trajectories& trajectories, const std::vector<ViewRow>& rows,
                        std::int64_t begin, std::int64_t end, at::Device device, const RowAdapters& adapters) {
  const auto& prompts = trajectories.prompts;
  const std::int64_t prompt = prompts.tokens_BP.size(1), length = trajectories.tokens_BL.size(1),
                     sequence = prompt + length;
  const ModelTraits& traits = model.traits();
  const std::int64_t before = traits.prediction_row == PredictionRow::kPrevious ? 1 : 0;
  const auto predicting_row = [&](std::int64_t position) {
    return position == 0 && traits.first_scored_at_own_row ? 0 : position - before;
  };
  const std::int64_t count = end - begin;
  auto tokens = at::empty({count, sequence}, at::kLong);
  RowBatch batch;
  std::vector<std::int64_t> responses, wanted;
  for (std::int64_t r = 0; r < count; ++r) {
    const ViewRow& row = rows[static_cast<std::size_t>(begin + r)];
    responses.push_back(row.response);
    std::memcpy(tokens.data_ptr<std::int64_t>() + r * sequence, row.tokens.data(),
                row.tokens.size() * sizeof(std::int64_t));
    std::int64_t last_position = -1;
    for (const auto& target : row.targets) {
      if (target.position != last_position) {
        wanted.push_back(r * sequence + prompt + predicting_row(target.position));
      }
      last_position = target.position;
      batch.scored.push_back({static_cast<std::int64_t>(wanted.size()) - 1, target.token, target.flat});
    }
  }
  batch.hidden_rows = static_cast<std::int64_t>(wanted.size());
  batch.forward.tokens_BS = tokens.to(device);
  batch.forward.rows_N = index_tensor(wanted, device);
  const auto attended = key_mask(prompts, responses, rows, begin, length);
  if (attended.defined()) batch.forward.key_mask_BS = attended.to(device);
  set_adapters(adapters, rows, begin, count, prompts, device, batch.forward);
  return batch;
}

TargetSet select_targets(const RowBatch& batch, Range flat, Range hidden_rows, at::Device device) {
  std::vector<std::int64_t> rows, row, token, place;
  for (const ScoredToken& one : batch.scored) {
    if (one.flat < flat.begin || one.flat >= flat.end) continue;
    if (one.hidden_row < hidden_rows.begin || one.hidden_row >= hidden_rows.end) continue;
    if (rows.empty() || rows.back() != one.hidden_row) rows.push_back(one.hidden_row);
    row.push_back(static_cast<std::int64_t>(rows.size()) - 1);
    token.push_back(one.token);
    place.push_back(one.flat - flat.begin);
  }
  return {index_tensor(rows, device),
          {index_tensor(row, device), index_tensor(token, device)},
          index_tensor(place, device)};
}

}  // namespace drift
