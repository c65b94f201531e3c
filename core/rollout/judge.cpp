#include <core/rollout/judge.h>

#include <core/base/plain_threads.h>
#include <core/boundary/checked.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <variant>

namespace drift {
namespace {

constexpr int kAttempts = 2;

/// For each request, the number of the first one that asks for the same.
std::vector<std::size_t> first_of_the_same(std::span<const RewardRequest> requests) {
  std::map<std::tuple<const TaskItem*, bool, std::string_view>, std::size_t> seen;
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RewardRequest& request = requests[i];
    first.push_back(seen.try_emplace({request.item, request.truncated, request.response}, i).first->second);
  }
  return first;
}

/// What stands behind the last `mark`, which the given first words may hold; nothing where it is missing. All without a
/// mark.
std::optional<std::string_view> behind(std::string_view response, std::string_view mark, std::string_view first_words) {
  if (mark.empty()) return response;
  if (const std::size_t last = response.rfind(mark); last != std::string_view::npos)
    return response.substr(last + mark.size());
  return first_words.find(mark) != std::string_view::npos ? std::optional(response) : std::nullopt;
}

}  // namespace

std::string_view status_name(RewardStatus status) {
  switch (status) {
    case RewardStatus::kOk: return "ok";
    case RewardStatus::kNoAnswer: return "no answer";
    case RewardStatus::kParseError: return "parse error";
    case RewardStatus::kWrong: return "wrong";
    case RewardStatus::kTimeout: return "timeout";
    case RewardStatus::kCrashed: return "crashed";
    case RewardStatus::kResource: return "resource";
    case RewardStatus::kForged: return "forged";
    case RewardStatus::kInfrastructure: return "not judged";
  }
  return "unknown";
}

Judge::Judge(RunHost& host, const RunConfig& config) : at_once_(processor_cores()) {
  const auto add = [&](const std::string& section, const std::string& label) {
    rewards_.push_back(create_component<Reward>(host, config, section));
    labels_.push_back(label);
    const auto settings = config.get<AddedRewardSettings>(section);
    weights_.push_back(settings.weight);
    after_.push_back(settings.after);
    const auto& values = config.section(section).values();
    const auto workers = values.find("workers");
    const auto* wanted = workers == values.end() ? nullptr : std::get_if<std::int64_t>(&workers->second);
    if (wanted != nullptr && *wanted > 0) at_once_ = std::max(at_once_, static_cast<std::size_t>(*wanted));
  };
  if (config.has("prompt")) given_words_ = config.get<PromptSettings>().response_prefix;
  add("reward", config.component("reward"));
  const std::string family = "reward.added.";
  for (const ResolvedSection& section : config.sections()) {
    if (section.name.starts_with(family)) add(section.name, section.name.substr(family.size()));
  }
}

RewardResult Judge::score(std::size_t reward, RewardRequest request, BadReference bad_reference) const {
  RewardResult result;
  const std::string& own = request.item->response_prefix;
  const auto judged = behind(request.response, after_[reward], own.empty() ? given_words_ : own);
  request.response = judged.value_or("");
  try {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      result = checked_verdict(*rewards_[reward], request);
      if (result.status != RewardStatus::kInfrastructure) break;
    }
  } catch (const Error& error) {
    if (bad_reference == BadReference::kThrow) throw;
    result = {};
    result.status = RewardStatus::kInfrastructure;
    result.reason = error.what() + (error.hint().empty() ? "" : ": " + error.hint());
  }
  if (!judged && result.status != RewardStatus::kInfrastructure) {
    result = {};
    result.status = RewardStatus::kNoAnswer;
    result.reason = "the response has no " + after_[reward];
  }
  return result;
}

Judgement Judge::judge_one(const RewardRequest& request, BadReference bad_reference) const {
  Judgement judgement;
  for (std::size_t r = 0; r < rewards_.size(); ++r) {
    RewardResult result = score(r, request, bad_reference);
    judgement.value += weights_[r] * result.value;
    if (r == 0) judgement.solved = result.solved;
    if (r == 0 || (result.status == RewardStatus::kInfrastructure && judgement.status != result.status)) {
      judgement.status = result.status;
      judgement.reason = result.reason;
    }
    judgement.parts.push_back(std::move(result));
  }
  return judgement;
}

std::vector<Judgement> Judge::judge(std::span<const RewardRequest> requests, BadReference bad_reference) const {
  const auto first = first_of_the_same(requests);
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] == i) different.push_back(i);
  }
  std::vector<Judgement> judgements(requests.size());
  for_each_at_once(
      different.size(),
      [&](std::size_t i) { judgements[different[i]] = judge_one(requests[different[i]], bad_reference); }, at_once_);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] != i) judgements[i] = judgements[first[i]];
  }
  return judgements;
}

}  // namespace drift
