#include <core/lab/fidelity/decoder.h>

#include <core/config/nearest.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace drift {
namespace {

constexpr std::pair<const char*, CommitOrder> kOrders[] = {{"random", CommitOrder::kRandom},
                                                           {"confidence", CommitOrder::kConfidence},
                                                           {"margin", CommitOrder::kMargin},
                                                           {"entropy", CommitOrder::kNegativeEntropy}};
constexpr const char* kThreshold = "threshold";

at::Tensor allowed_of(const ResponseSpace& space) { return at::tensor(space.tokens(), at::kLong); }

/// Probabilities of what is drawn, [N, m, A].
at::Tensor draws_of(const ResponseSpace& space, const at::Tensor& logprob_NmV) {
  const auto probability_NmA = logprob_NmV.index_select(-1, allowed_of(space)).exp();
  return probability_NmA / probability_NmA.sum(-1, /*keepdim=*/true);
}

/// [N, m, A], float32 as a rollout compares them. Without a gradient.
at::Tensor confidences_of(const ResponseSpace& space, const Decoder& decoder, const at::Tensor& logprob_NmV) {
  const auto logprob = logprob_NmV.detach();
  const auto probability = logprob.exp();
  at::Tensor confidence;
  switch (decoder.order) {
    case CommitOrder::kRandom:
    case CommitOrder::kConfidence: confidence = probability.index_select(-1, allowed_of(space)); break;
    case CommitOrder::kMargin: {
      const auto top = std::get<0>(probability.topk(2, -1));
      confidence = (top.select(-1, 0) - top.select(-1, 1)).unsqueeze(-1);
      break;
    }
    case CommitOrder::kNegativeEntropy: confidence = (probability * logprob).sum(-1, /*keepdim=*/true); break;
  }
  return confidence.expand({logprob.size(0), logprob.size(1), space.choices()}).to(at::kFloat).contiguous();
}

/// The mass of states, moved from a pattern to those that follow it.
class Flow {
 public:
  Flow(const ResponseSpace& space, const Decoder& decoder)
      : space_(space), decoder_(decoder), mass_(static_cast<std::size_t>(space.all_masked()) + 1) {
    mass_.back() = at::ones(space.shape(space.all_masked()), at::kDouble);
  }

  /// What leaves the states of `from`, all of whose mass is there.
  void leave(Pattern from, const at::Tensor& logprob_NmV) {
    const at::Tensor mass = mass_[from];
    if (!mass.defined()) return;
    positions_ = space_.open_positions(from);
    const auto draw_NmA = draws_of(space_, logprob_NmV);
    const auto confidence_NmA = confidences_of(space_, decoder_, logprob_NmV);
    draw_.clear(), confidence_.clear();
    for (std::size_t k = 0; k < positions_.size(); ++k) {  // the first of the masked ones
      draw_.push_back(over_states(from, draw_NmA, k));
      confidence_.push_back(over_states(from, confidence_NmA, k));
    }
    if (decoder_.order == CommitOrder::kRandom) {
      for (std::size_t k = 0; k < draw_.size(); ++k) {
        move(from, Pattern{1} << positions_[k], mass * draw_[k] / static_cast<double>(draw_.size()));
      }
    } else if (decoder_.threshold) {
      leave_by_threshold(from, mass);
    } else {
      for (std::size_t k = 0; k < draw_.size(); ++k) move(from, Pattern{1} << positions_[k], mass * surest(k));
    }
    mass_[from] = at::Tensor();
  }

  at::Tensor responses() const { return mass_.front().reshape({-1}); }

 private:
  /// Of open position number k a value for each token: as a tensor with a dimension for each position, the tokens in
  /// the position's own.
  at::Tensor over_states(Pattern pattern, const at::Tensor& value_NmA, std::size_t k) const {
    auto sizes = space_.shape(pattern);
    sizes.push_back(space_.choices());
    const auto value = value_NmA.select(1, static_cast<std::int64_t>(k)).reshape(sizes);
    return value.transpose(positions_[k], space_.length()).squeeze(space_.length());
  }

  /// Position number k draws the token and is surer than every other.
  at::Tensor surest(std::size_t k) const {
    at::Tensor probability = draw_[k];
    for (std::size_t j = 0; j < draw_.size(); ++j) {
      if (j == k) continue;
      auto loses = confidence_[j] < confidence_[k];
      if (k < j) loses = loses.logical_or(confidence_[j] == confidence_[k]);
      probability = probability * (draw_[j] * loses).sum(positions_[j], /*keepdim=*/true);
    }
    return probability;
  }

  void leave_by_threshold(Pattern from, const at::Tensor& mass) {
    std::vector<at::Tensor> above, below;
    for (std::size_t k = 0; k < draw_.size(); ++k) {
      // A score is float32, the threshold a double.
      const auto reaches = confidence_[k].to(at::kDouble) >= *decoder_.threshold;
      above.push_back(draw_[k] * reaches);
      below.push_back(draw_[k] * reaches.logical_not());
    }
    const auto all = (Pattern{1} << draw_.size()) - 1;
    for (Pattern chosen = 1; chosen <= all; ++chosen) {
      at::Tensor probability = mass;
      Pattern committed = 0;
      for (std::size_t k = 0; k < draw_.size(); ++k) {
        const bool commits = is_masked(chosen, static_cast<std::int64_t>(k));
        probability = probability * (commits ? above[k] : below[k].sum(positions_[k], /*keepdim=*/true));
        if (commits) committed |= Pattern{1} << positions_[k];
      }
      move(from, committed, probability);
    }
    // None reaches it: the surest.
    std::swap(draw_, below);
    for (std::size_t k = 0; k < draw_.size(); ++k) move(from, Pattern{1} << positions_[k], mass * surest(k));
  }

  void move(Pattern from, Pattern committed, const at::Tensor& mass) {
    at::Tensor& to = mass_[from & ~committed];
    to = to.defined() ? to + mass : mass;
  }

  const ResponseSpace& space_;
  const Decoder& decoder_;
  std::vector<at::Tensor> mass_;  // by pattern; undefined: none, or it has left
  std::vector<std::int64_t> positions_;
  std::vector<at::Tensor> draw_, confidence_;
};

}  // namespace

Decoder Decoder::named(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& [name, order] : kOrders) {
    if (text == name) return {order, {}};
    names.emplace_back(name);
  }
  const std::string key = std::string(kThreshold) + "=";
  if (text.starts_with(key)) {
    char* end = nullptr;
    const double threshold = std::strtod(text.c_str() + key.size(), &end);
    if (end != text.c_str() + key.size() && *end == '\0' && threshold > 0 && threshold <= 1)
      return {CommitOrder::kConfidence, threshold};
    throw Error("`" + text + "`: the threshold is a probability above 0", "for example threshold=0.9");
  }
  names.push_back("threshold=0.9");
  throw Error("unknown decoder `" + text + "`", name_hint(text, names, "decoders"));
}

std::string Decoder::name() const {
  if (threshold) return std::string(kThreshold) + "=" + to_toml(*threshold);
  for (const auto& [name, value] : kOrders) {
    if (value == order) return name;
  }
  return {};
}

at::Tensor response_probabilities(const ResponseSpace& space, const Decoder& decoder, const StateScores& scores) {
  Flow flow(space, decoder);
  // A state leads to states of fewer masks, whose patterns are smaller numbers.
  for (Pattern pattern = space.all_masked(); pattern > 0; --pattern) flow.leave(pattern, scores[pattern]);
  return flow.responses();
}

TableDecoder::TableDecoder(const ResponseSpace& space, const Decoder& decoder, const StateScores& scores)
    : space_(space), decoder_(decoder), tables_(scores.size()) {
  for (std::size_t pattern = 1; pattern < scores.size(); ++pattern) {
    const auto logprob = scores[pattern].detach();
    tables_[pattern] = {draws_of(space, logprob).contiguous(), logprob.index_select(-1, allowed_of(space)).contiguous(),
                        confidences_of(space, decoder, logprob)};
  }
}

/// A response in the making.
struct TableDecoder::Row {
  std::int64_t number = 0;
  Pattern pattern = 0;
  std::int64_t forwards = 0;
  std::vector<std::int64_t> choice;  // of each position, in the space's tokens
  std::vector<std::int32_t> step;
  std::vector<float> logprob;

  /// Its number among the states of its pattern.
  std::int64_t state(std::int64_t choices) const {
    std::int64_t number_of_state = 0;
    for (std::size_t i = 0; i < choice.size(); ++i) {
      if (!is_masked(pattern, static_cast<std::int64_t>(i))) number_of_state = number_of_state * choices + choice[i];
    }
    return number_of_state;
  }
};

void TableDecoder::advance(Row& row, const RandomStream& random, std::int64_t step) const {
  const RandomStream order = random.child("order");
  const Table& table = tables_[row.pattern];
  const auto positions = space_.open_positions(row.pattern);
  const std::int64_t choices = space_.choices();
  const std::int64_t first = row.state(choices) * table.draw_NmA.size(1) * choices;
  std::vector<std::int64_t> drawn(positions.size());
  std::vector<double> score(positions.size());
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const RandomPoint point{step, row.number, positions[k], row.forwards};
    const std::int64_t at = first + static_cast<std::int64_t>(k) * choices;
    const double* const draw = table.draw_NmA.const_data_ptr<double>() + at;
    double left = random.uniform(point);
    std::int64_t token = 0;
    while (token + 1 < choices && left >= draw[token]) left -= draw[token++];
    drawn[k] = token;
    score[k] = decoder_.order == CommitOrder::kRandom
                   ? order.uniform(point)
                   : static_cast<double>(table.confidence_NmA.const_data_ptr<float>()[at + token]);
  }
  const double best = *std::ranges::max_element(score);
  const double needed = decoder_.threshold ? std::min(best, *decoder_.threshold) : best;
  for (std::size_t k = 0; k < positions.size(); ++k) {
    if (score[k] < needed) continue;
    const auto i = static_cast<std::size_t>(positions[k]);
    row.choice[i] = drawn[k];
    row.step[i] = static_cast<std::int32_t>(row.forwards);
    row.logprob[i] = static_cast<float>(
        table.logprob_NmA.const_data_ptr<double>()[first + static_cast<std::int64_t>(k) * choices + drawn[k]]);
    row.pattern &= ~(Pattern{1} << i);
    if (!decoder_.threshold || best < *decoder_.threshold) break;  // equal ones stay masked
  }
  ++row.forwards;
}

Trajectories TableDecoder::write(std::int64_t count, const RandomStream& random, std::int64_t step) const {
  const std::int64_t length = space_.length();
  Trajectories made;
  made.prompts.tokens_BP = at::tensor(space_.prompt(), at::kLong).repeat({count, 1});
  made.prompts.mask_BP = at::ones_like(made.prompts.tokens_BP, at::kBool);
  made.prompts.group_B = at::zeros({count}, at::kLong);
  made.tokens_BL = at::empty({count, length}, at::kLong);
  made.step_BL = at::empty({count, length}, at::kInt);
  made.commit_logprob_BL = at::empty({count, length}, at::kFloat);
  made.forwards_B = at::empty({count}, at::kLong);
  for (std::int64_t b = 0; b < count; ++b) {
    const auto size = static_cast<std::size_t>(length);
    Row row{b,
            space_.all_masked(),
            0,
            std::vector<std::int64_t>(size),
            std::vector<std::int32_t>(size),
            std::vector<float>(size)};
    while (row.pattern != 0) advance(row, random, step);
    for (std::int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(i);
      made.tokens_BL.data_ptr<std::int64_t>()[b * length + i] =
          space_.tokens()[static_cast<std::size_t>(row.choice[at])];
      made.step_BL.data_ptr<std::int32_t>()[b * length + i] = row.step[at];
      made.commit_logprob_BL.data_ptr<float>()[b * length + i] = row.logprob[at];
    }
    made.forwards_B.data_ptr<std::int64_t>()[b] = row.forwards + space_.further_forwards();
  }
  made.valid_BL = (made.tokens_BL != space_.traits().pad_id).logical_and(made.tokens_BL != space_.traits().mask_id);
  return made;
}

}  // namespace drift
