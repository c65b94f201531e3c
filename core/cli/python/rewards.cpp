// Rewards on texts of Python.

#include <core/cli/python/module.h>
#include <core/rollout/judge.h>

#include <deque>

namespace drift::python {
namespace {

/// The rewards of a run's [reward].
struct JudgeOfRun {
  RunConfig config;
  Judge judge;

  explicit JudgeOfRun(const std::vector<ConfigOverride>& overrides)
      : config(resolve_config(load_document({}, overrides), installed().plugins->registry, ConfigPurpose::kJudge)),
        judge(installed().host, config) {}
};

Object make_judge(const Object& given) { return held(std::make_shared<JudgeOfRun>(overrides_in(given[0]))); }

/// (judge, ((response, reference, question, truncated), …)) → ((score, solved, status, reason), …).
Object judge_responses(const Object& given) {
  const auto& of_run = holding_a<JudgeOfRun>(given[0]);
  std::deque<std::pair<TaskItem, std::string>> kept;  // requests point into it
  std::vector<RewardRequest> requests;
  for (const Object& one : given[1].items()) {
    auto& [item, response] = kept.emplace_back();
    item.id = std::to_string(kept.size());
    response = one[0].text();
    item.reference = one[1].text();
    item.prompt = one[2].text();
    requests.push_back({response, &item, one[3].boolean()});
  }
  std::vector<Judgement> judgements;
  {
    const WithoutGil released;
    judgements = of_run.judge.judge(requests, BadReference::kNotJudged);
  }
  std::vector<Object> verdicts;
  for (const Judgement& judgement : judgements)
    verdicts.push_back(tuple({number(judgement.value), boolean(judgement.solved), text(status_name(judgement.status)),
                              text(judgement.reason)}));
  return tuple(std::move(verdicts));
}

}  // namespace

std::vector<ModuleFunction> reward_functions() { return {{"make_judge", make_judge}, {"judge", judge_responses}}; }

}  // namespace drift::python
