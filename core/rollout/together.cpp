#include <core/rollout/together.h>

#include <core/boundary/checked.h>
#include <core/boundary/divided_weights.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace drift {
namespace {

constexpr std::int64_t kSmallestPart = 2;  // responses

/// Trajectories of no response, as those that there are look.
Trajectories no_responses(std::int64_t length) {
  Trajectories none;
  none.tokens_BL = at::empty({0, length}, at::kLong);
  none.valid_BL = at::empty({0, length}, at::kBool);
  none.step_BL = at::empty({0, length}, at::kInt);
  none.commit_logprob_BL = at::empty({0, length}, at::kFloat);
  none.forwards_B = at::empty({0}, at::kLong);
  return none;
}

/// Whether responses may need different numbers of forwards, as far as the rollout says.
bool forwards_may_differ(const Rollout& rollout, const Model& model, const RolloutInput& input) {
  const auto cost = checked_cost(rollout, model, input.prompts.tokens_BP.size(1), input.prompts.tokens_BP.size(0),
                                 model.device().is_cpu());
  return !cost || cost->least_forwards != cost->most_forwards;
}

/// Where parts of the responses begin, and the end of the last one: equal shares, or, where ranks take turns, ever
/// smaller ones, since large batches are written faster and small ones end at the same time.
std::vector<std::int64_t> parts_of(std::int64_t responses, std::int64_t ranks, bool in_turns) {
  std::vector<std::int64_t> begins{0};
  const auto divide = [&](std::int64_t count) {
    const std::int64_t first = begins.back();
    for (std::int64_t r = 1; r <= ranks; ++r) begins.push_back(first + count * r / ranks);
  };
  for (std::int64_t left = responses; in_turns && left >= kSmallestPart * ranks * 2; left = responses - begins.back())
    divide(left / 2);
  divide(responses - begins.back());
  return begins;
}

/// The number of the first request of a rank's share: where an item begins.
std::size_t first_request(std::span<const RewardRequest> requests, std::int64_t share_begin) {
  auto first = static_cast<std::size_t>(share_begin);
  while (first > 0 && first < requests.size() && requests[first].item == requests[first - 1].item) ++first;
  return first;
}

// Verdicts travel as MessagePack, which keeps every number and byte.

template <class Verdict>
nlohmann::json json_of(const Verdict& verdict) {
  return {verdict.value, verdict.solved, static_cast<std::uint32_t>(verdict.status), verdict.reason};
}

template <class Verdict>
void read_verdict(const nlohmann::json& json, Verdict& verdict) {
  json[0].get_to(verdict.value);
  json[1].get_to(verdict.solved);
  verdict.status = static_cast<RewardStatus>(json[2].get<std::uint32_t>());
  json[3].get_to(verdict.reason);
}

nlohmann::json json_of(const std::vector<Judgement>& judgements) {
  nlohmann::json list = nlohmann::json::array();
  for (const Judgement& judgement : judgements) {
    nlohmann::json& one = list.emplace_back(json_of(judgement));
    for (const RewardResult& part : judgement.parts) one.push_back(json_of(part));
  }
  return list;
}

void append_judgements(const nlohmann::json& list, std::vector<Judgement>& judgements) {
  constexpr std::size_t kFirstPart = 4;  // behind what the judgement itself says
  for (const nlohmann::json& one : list) {
    Judgement& judgement = judgements.emplace_back();
    read_verdict(one, judgement);
    for (std::size_t part = kFirstPart; part < one.size(); ++part)
      read_verdict(one[part], judgement.parts.emplace_back());
  }
}

}  // namespace

RolloutInput responses_of(const RolloutInput& input, std::int64_t begin, std::int64_t end) {
  const auto narrow = [&](const at::Tensor& tensor) { return tensor.narrow(0, begin, end - begin).clone(); };
  RolloutInput part = input;
  part.prompts.tokens_BP = narrow(input.prompts.tokens_BP);
  part.prompts.mask_BP = narrow(input.prompts.mask_BP);
  part.prompts.group_B = narrow(input.prompts.group_B);
  part.prompts.group_B.sub_(part.prompts.group_B[0].clone());  // groups count from 0
  part.first_response += begin;
  return part;
}

void generate_together(Ranks& ranks, const Rollout& rollout, const Model& model, const RolloutInput& input,
                       Trajectories& made) {
  if (ranks.size() == 1) {
    made = checked_trajectories(rollout, input);
    return;
  }
  const std::int64_t responses = input.prompts.tokens_BP.size(0);
  // Ranks that divide the weights compute each forward together: there is no sense in turns.
  const bool in_turns = divided_weights(model) == nullptr && forwards_may_differ(rollout, model, input);
  const auto parts = parts_of(responses, ranks.size(), in_turns);
  const auto part_count = static_cast<std::int64_t>(parts.size()) - 1;
  std::vector<Trajectories> own{no_responses(checked_response_length(rollout))};
  const auto write = [&](std::int64_t part) {
    const std::int64_t begin = parts[static_cast<std::size_t>(part)], end = parts[static_cast<std::size_t>(part) + 1];
    if (begin < end) own.push_back(checked_trajectories(rollout, responses_of(input, begin, end)));
  };
  std::vector<std::int64_t> order;  // the parts, rank by rank
  if (part_count == ranks.size()) {
    write(ranks.rank());
    for (std::int64_t part = 0; part < part_count; ++part) order.push_back(part);
  } else {
    order = ranks.take_turns(part_count, write);
  }
  accompany(model);
  std::vector<at::Tensor> gathered(static_cast<std::size_t>(part_count));
  const auto all = [&](at::Tensor Trajectories::*field) {
    std::vector<at::Tensor> mine;
    for (const Trajectories& part : own) mine.push_back(part.*field);
    const auto of_all = ranks.all_gather(at::cat(mine));
    std::int64_t first = 0;
    for (const std::int64_t part : order) {
      const auto p = static_cast<std::size_t>(part);
      gathered[p] = of_all.narrow(0, first, parts[p + 1] - parts[p]);
      first += parts[p + 1] - parts[p];
    }
    made.*field = at::cat(gathered);
  };
  made.prompts = input.prompts;
  for (const auto field : {&Trajectories::tokens_BL, &Trajectories::valid_BL, &Trajectories::step_BL,
                           &Trajectories::commit_logprob_BL, &Trajectories::forwards_B})
    all(field);
}

std::vector<Judgement> judge_together(Ranks& ranks, const Judge& judge, std::span<const RewardRequest> requests) {
  if (ranks.size() == 1) return judge.judge(requests);
  const auto share = ranks.share(static_cast<std::int64_t>(requests.size()));
  const std::size_t begin = first_request(requests, share.first), end = first_request(requests, share.second);
  const auto own = judge.judge(requests.subspan(begin, end - begin));
  std::vector<Judgement> judgements;
  for (const nlohmann::json& list : ranks.gather_json(json_of(own))) append_judgements(list, judgements);
  return judgements;
}

}  // namespace drift
