#include <core/eval/answers.h>

#include <core/base/log.h>
#include <core/base/phase_timer.h>
#include <core/boundary/checked.h>
#include <core/boundary/model_policy.h>
#include <core/rollout/response_text.h>
#include <core/rollout/together.h>
#include <core/update/commit_states.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

namespace drift {
namespace {

AnsweredItem answer(const Trajectories& trajectories, std::int64_t b, TaskItem item, const Tokenizer& tokenizer,
                    const ModelTraits& traits) {
  const std::int64_t length = trajectories.tokens_BL.size(1);
  const auto row = [&]<class T>(const at::Tensor& tensor, T) {
    const T* data = tensor.const_data_ptr<T>() + b * length;
    return std::vector<T>(data, data + length);
  };
  AnsweredItem answered;
  answered.item = std::move(item);
  answered.response = response_text(trajectories, b, tokenizer);
  answered.token_ids = row(trajectories.tokens_BL, std::int64_t{});
  answered.commit_step = row(trajectories.step_BL, std::int32_t{});
  answered.commit_logprob = row(trajectories.commit_logprob_BL, float{});
  const auto& ids = answered.token_ids;
  const auto end = std::ranges::find_if(ids, [&](std::int64_t id) { return ends_response(id, traits); });
  answered.written = end - ids.begin();
  answered.truncated = end == ids.end();
  answered.forwards = trajectories.forwards_B.const_data_ptr<std::int64_t>()[b];
  return answered;
}

/// Whether there are items with several responses, and those to one item never differ.
bool samples_are_equal(const std::vector<AnsweredItem>& answers) {
  bool several = false;
  for (std::size_t i = 1; i < answers.size(); ++i) {
    if (answers[i].sample == 0) continue;
    several = true;
    if (answers[i].token_ids != answers[i - 1].token_ids) return false;
  }
  return several;
}

}  // namespace

std::vector<TaskItem> held_out_items(const Loaded<Task>& task, std::int64_t first, std::int64_t count) {
  std::vector<TaskItem> items(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = checked_held_out_item(*task, first + static_cast<std::int64_t>(i));
  }
  return items;
}

std::vector<AnsweredItem> write_answers(const AnswerSettings& settings, std::int64_t first, std::int64_t count) {
  const PhaseTimer timer;
  const at::NoGradGuard no_gradient;
  std::vector<TaskItem> items;
  const std::int64_t before = settings.first_item * settings.samples;
  for (std::int64_t number = before + first; number < before + first + count; ++number)
    items.push_back(std::move(held_out_items(*settings.task, number / settings.samples, 1).front()));
  RolloutInput input;
  const ModelPolicy policy(*settings.model);
  input.policy = &policy;
  input.random = RandomStream(settings.seed, "held out");
  input.first_response = before + first;
  input.cancelled = settings.cancelled;
  Trajectories trajectories;
  const Rollout& rollout = **settings.rollout;
  input.prompts = settings.prompts->encode(items, 1, checked_response_length(rollout));
  generate_together(*settings.ranks, rollout, *settings.model, input, trajectories);
  if (settings.cancelled != nullptr && *settings.cancelled) return {};
  at::Tensor entropy_BL;
  if (settings.keep_trajectories) entropy_BL = commit_entropies(*settings.ranks, *settings.model, trajectories);
  std::vector<AnsweredItem> answers;
  for (std::int64_t b = 0; b < count; ++b) {
    answers.push_back(answer(trajectories, b, std::move(items[static_cast<std::size_t>(b)]),
                             settings.prompts->tokenizer(), settings.model->traits()));
    answers.back().sample = (first + b) % settings.samples;
    if (settings.keep_trajectories) answers.back().trajectory = trajectory_record(trajectories, b, entropy_BL);
  }
  const double seconds = timer.seconds() / static_cast<double>(std::max<std::int64_t>(1, count));
  for (AnsweredItem& answered : answers) answered.seconds = seconds;
  if (first == 0 && samples_are_equal(answers)) {
    log_warning("all " + std::to_string(settings.samples) +
                " responses to an item are equal: further samples say nothing where none is drawn, as with "
                "evaluation.rollout.temperature = 0");
  }
  return answers;
}

void judge_answers(Ranks& ranks, const Judge& judge, std::vector<AnsweredItem>& answers) {
  std::vector<RewardRequest> requests;
  for (const AnsweredItem& answered : answers)
    requests.push_back({answered.response, &answered.item, answered.truncated});
  std::vector<Judgement> judgements = judge_together(ranks, judge, requests);
  for (std::size_t i = 0; i < answers.size(); ++i) answers[i].judgement = std::move(judgements[i]);
}

}  // namespace drift
