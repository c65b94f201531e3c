#include <core/rollout/together.h>

#include <core/ranks/ranks.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace drift {
namespace {

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

std::string text_of(const std::vector<Judgement>& judgements) {
  nlohmann::json list = nlohmann::json::array();
  for (const Judgement& judgement : judgements) {
    nlohmann::json& one = list.emplace_back(json_of(judgement));
    for (const RewardResult& part : judgement.parts) one.push_back(json_of(part));
  }
  std::string text;
  nlohmann::json::to_msgpack(list, text);
  return text;
}

void append_judgements(const std::string& text, std::vector<Judgement>& judgements) {
  constexpr std::size_t kFirstPart = 4;  // behind what the judgement itself says
  for (const nlohmann::json& one : nlohmann::json::from_msgpack(text)) {
    Judgement& judgement = judgements.emplace_back();
    read_verdict(one, judgement);
    for (std::size_t part = kFirstPart; part < one.size(); ++part)
      read_verdict(one[part], judgement.parts.emplace_back());
  }
}

}  // namespace

void generate_together(const Rollout& rollout, const RolloutInput& input, Trajectories& made) {
  Ranks& ranks = run_ranks();
  if (ranks.size() == 1) return rollout.generate(input, made);
  const auto [begin, end] = ranks.share(input.prompts.tokens_BP.size(0));
  Trajectories own = no_responses(rollout.response_length());
  if (begin < end) {
    const auto narrow = [&, first = begin, count = end - begin](const at::Tensor& tensor) {
      return tensor.narrow(0, first, count).clone();
    };
    RolloutInput part = input;
    part.prompts.tokens_BP = narrow(input.prompts.tokens_BP);
    part.prompts.mask_BP = narrow(input.prompts.mask_BP);
    part.prompts.group_B = narrow(input.prompts.group_B);
    part.prompts.group_B.sub_(part.prompts.group_B[0].clone());  // groups count from 0
    part.first_response += begin;
    own = {};
    rollout.generate(part, own);
  }
  made.prompts = input.prompts;
  made.tokens_BL = ranks.all_gather(own.tokens_BL);
  made.valid_BL = ranks.all_gather(own.valid_BL);
  made.step_BL = ranks.all_gather(own.step_BL);
  made.commit_logprob_BL = ranks.all_gather(own.commit_logprob_BL);
  made.forwards_B = ranks.all_gather(own.forwards_B);
}

std::vector<Judgement> judge_together(const Judge& judge, std::span<const RewardRequest> requests) {
  Ranks& ranks = run_ranks();
  if (ranks.size() == 1) return judge.judge(requests);
  const auto share = ranks.share(static_cast<std::int64_t>(requests.size()));
  const std::size_t begin = first_request(requests, share.first), end = first_request(requests, share.second);
  const auto own = judge.judge(requests.subspan(begin, end - begin));
  std::vector<Judgement> judgements;
  for (const std::string& text : ranks.all_gather(text_of(own))) append_judgements(text, judgements);
  return judgements;
}

}  // namespace drift
