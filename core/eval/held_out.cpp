#include <core/eval/held_out.h>

#include <core/train/phase_timer.h>
#include <core/train/prompt_batch.h>
#include <core/train/truncation.h>

#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

constexpr std::int64_t kItemsAtOnce = 512;

AnsweredItem answer(const Trajectories& trajectories, std::int64_t b, TaskItem item, const Tokenizer& tokenizer) {
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
  answered.forwards = trajectories.forwards_B.const_data_ptr<std::int64_t>()[b];
  return answered;
}

void judge(std::vector<AnsweredItem>& answers, const at::Tensor& truncated_B, const Judge& judge) {
  std::vector<RewardRequest> requests;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    requests.push_back({answers[i].response, &answers[i].item, truncated_B[static_cast<std::int64_t>(i)].item<bool>()});
  }
  auto judgements = judge.judge(requests);
  for (std::size_t i = 0; i < answers.size(); ++i) answers[i].judgement = std::move(judgements[i]);
}

}  // namespace

HeldOutEvaluation evaluate_held_out(const HeldOutSettings& settings) {
  const PhaseTimer timer;
  const at::NoGradGuard no_gradient;
  const auto& task = *settings.task;
  const std::int64_t available = task->held_out_size();
  const std::int64_t total = settings.items == 0 ? available : std::min(settings.items, available);

  HeldOutEvaluation evaluation;
  std::int64_t solved = 0, forwards = 0;
  for (std::int64_t first = 0; first < total; first += kItemsAtOnce) {
    std::vector<TaskItem> items(static_cast<std::size_t>(std::min(kItemsAtOnce, total - first)));
    for (std::size_t i = 0; i < items.size(); ++i) {
      task.call("held_out_item",
                [&](const Task& t) { t.held_out_item(first + static_cast<std::int64_t>(i), items[i]); });
    }
    RolloutInput input;
    input.model = settings.model;
    input.random = RandomStream(settings.seed, "held out");
    input.first_sample = first;
    input.cancelled = settings.cancelled;
    Trajectories trajectories;
    settings.rollout->call("generate", [&](const Rollout& rollout) {
      input.prompts = settings.prompts->encode(items, 1, rollout.response_length());
      rollout.generate(input, trajectories);
    });
    if (settings.cancelled && *settings.cancelled) return {};
    std::vector<AnsweredItem> answers;
    for (std::size_t i = 0; i < items.size(); ++i) {
      answers.push_back(
          answer(trajectories, static_cast<std::int64_t>(i), std::move(items[i]), settings.prompts->tokenizer()));
    }
    judge(answers, never_ends(trajectories.tokens_BL, settings.model->traits()), *settings.judge);
    for (AnsweredItem& answered : answers) {
      solved += answered.judgement.solved ? 1 : 0;
      forwards += answered.forwards;
      evaluation.answers.push_back(std::move(answered));
    }
    if (settings.progress) settings.progress(std::min(total, first + kItemsAtOnce), total);
  }
  const auto n = static_cast<double>(std::max<std::int64_t>(1, total));
  auto& result = evaluation.result;
  result.items = total;
  result.accuracy = static_cast<double>(solved) / n;
  result.standard_error = std::sqrt(result.accuracy * (1.0 - result.accuracy) / n);
  result.forwards_per_response = static_cast<double>(forwards) / n;
  result.seconds = timer.seconds();
  return evaluation;
}

std::vector<std::string> display_pieces(const std::vector<std::int64_t>& ids, const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (const std::int64_t id : ids)
    pieces.push_back(written_text(std::span(&id, 1), tokenizer, /*skip_special=*/false));
  return pieces;
}

std::string samples_json(const HeldOutEvaluation& evaluation, std::int64_t step, const Tokenizer& tokenizer,
                         std::int64_t count) {
  auto samples = nlohmann::ordered_json::array();
  for (const bool solved : {true, false}) {
    std::int64_t taken = 0;
    for (const AnsweredItem& answered : evaluation.answers) {
      if (answered.judgement.solved != solved || taken == count) continue;
      ++taken;
      std::vector<double> probabilities;
      for (const float logprob : answered.commit_logprob)
        probabilities.push_back(std::exp(static_cast<double>(logprob)));
      samples.push_back({{"step", step},
                         {"prompt", answered.item.prompt},
                         {"response", answered.response},
                         {"tokens", display_pieces(answered.token_ids, tokenizer)},
                         {"commit_step", answered.commit_step},
                         {"commit_probability", probabilities},
                         {"reward", answered.judgement.value},
                         {"solved", answered.judgement.solved},
                         {"reason", answered.judgement.reason}});
    }
  }
  // A token of its own may be no valid UTF-8.
  return samples.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace drift
