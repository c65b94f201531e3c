#include <core/train/scored_responses.h>

#include <core/base/log.h>
#include <core/base/unknown.h>
#include <core/rollout/response_text.h>
#include <core/rollout/together.h>
#include <core/rollout/truncation.h>

#include <ATen/ops/empty.h>

#include <set>

namespace drift {
namespace {

/// Of all responses but the first of each group: the fraction whose text equals that of an earlier one of their group.
/// Unknown for groups of one.
double same_responses(const std::vector<std::string>& texts, std::int64_t group_size) {
  std::size_t same = 0;
  std::set<std::string> group;
  for (std::size_t b = 0; b < texts.size(); ++b) {
    if (b % static_cast<std::size_t>(group_size) == 0) group.clear();
    same += group.insert(texts[b]).second ? 0 : 1;
  }
  const std::size_t groups = texts.size() / static_cast<std::size_t>(group_size);
  return group_size == 1 ? kUnknown : static_cast<double>(same) / static_cast<double>(texts.size() - groups);
}

}  // namespace

ScoredResponses score_responses(Ranks& ranks, const std::vector<TaskItem>& items, const Trajectories& trajectories,
                                std::int64_t group_size, const Judge& judge, const PromptEncoder& prompts,
                                const ModelTraits& traits, const RewardSettings& settings) {
  const std::int64_t responses = trajectories.tokens_BL.size(0);
  const auto truncated_B = never_ends(trajectories.tokens_BL, traits);
  std::vector<std::string> texts;
  std::vector<RewardRequest> requests;
  for (std::int64_t b = 0; b < responses; ++b) texts.push_back(response_text(trajectories, b, prompts.tokenizer()));
  for (std::int64_t b = 0; b < responses; ++b) {
    const auto item = static_cast<std::size_t>(b / group_size);
    requests.push_back({texts[static_cast<std::size_t>(b)], &items[item], truncated_B[b].item<bool>()});
  }
  ScoredResponses scored;
  scored.same_responses = same_responses(texts, group_size);
  scored.judgements = judge_together(ranks, judge, requests);
  scored.reward_B = at::empty({responses}, at::kDouble);
  const auto cut_off_B = fills_its_length(trajectories.valid_BL, settings.truncation_margin);
  for (std::int64_t b = 0; b < responses; ++b) {
    const Judgement& judgement = scored.judgements[static_cast<std::size_t>(b)];
    const bool wrong = settings.truncation_is_wrong && cut_off_B[b].item<bool>();
    scored.reward_B.data_ptr<double>()[b] = wrong ? 0 : judgement.value;
    scored.solved.push_back(judgement.solved && !wrong ? 1 : 0);
    if (judgement.status != RewardStatus::kInfrastructure) continue;
    const std::int64_t group = b / group_size;
    if (!scored.unjudged_groups.empty() && scored.unjudged_groups.back() == group) continue;
    log_warning("item `" + items[static_cast<std::size_t>(group)].id +
                "` could not be judged; its group is dropped: " + judgement.reason);
    scored.unjudged_groups.push_back(group);
  }
  return scored;
}

}  // namespace drift
