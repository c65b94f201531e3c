#include <core/rollout/together.h>

#include <core/ranks/ranks.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

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

// Verdicts travel as one text: numbers as their bytes, texts behind their length.

template <class T>
void put_into(std::string& to, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    put_into(to, value.size());
    to += value;
  } else {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

struct VerdictReader {
  std::string_view rest;

  template <class T>
  void read(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      std::size_t size = 0;
      read(size);
      value = rest.substr(0, size);
      rest.remove_prefix(size);
    } else {
      std::memcpy(&value, rest.data(), sizeof value);
      rest.remove_prefix(sizeof value);
    }
  }
};

template <class Verdict, class Visit>
void visit_verdict(Verdict& verdict, const Visit& visit) {
  visit(verdict.value);
  visit(verdict.solved);
  visit(verdict.status);
  visit(verdict.reason);
}

std::string text_of(const std::vector<Judgement>& judgements) {
  std::string text;
  const auto put = [&](const auto& value) { put_into(text, value); };
  for (const Judgement& judgement : judgements) {
    visit_verdict(judgement, put);
    put(judgement.parts.size());
    for (const RewardResult& part : judgement.parts) visit_verdict(part, put);
  }
  return text;
}

void append_judgements(std::string_view text, std::vector<Judgement>& judgements) {
  VerdictReader reader{text};
  const auto take = [&](auto& value) { reader.read(value); };
  while (!reader.rest.empty()) {
    Judgement& judgement = judgements.emplace_back();
    visit_verdict(judgement, take);
    std::size_t parts = 0;
    take(parts);
    judgement.parts.resize(parts);
    for (RewardResult& part : judgement.parts) visit_verdict(part, take);
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
    part.first_sample += begin;
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
