#include <core/train/step_metrics.h>

#include <core/rollout/response_text.h>

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace drift {

StepMetrics::StepMetrics(std::int64_t step, const TrainSettings& train, const ReportSettings& report)
    : train_(train), report_(report) {
  record.step = step;
  record.seconds.emplace();
}

void StepMetrics::take(const RolloutGap& gap) {
  record.rollout_gap = gap.mean;
  record.rollout_gap_max = gap.largest;
}

void StepMetrics::take(const Trajectories& written, const ScoredResponses& scored,
                       const std::vector<std::string>& labels) {
  record.same_responses = scored.same_responses;
  for (std::size_t r = 0; labels.size() > 1 && r < labels.size(); ++r) {
    double sum = 0;
    for (const Judgement& judgement : scored.judgements) sum += judgement.parts[r].value;
    record.reward_parts[labels[r]] = sum / static_cast<double>(scored.judgements.size());
  }
  const double tokens = written.valid_BL.sum().item<double>();
  const auto solved = std::accumulate(scored.solved.begin(), scored.solved.end(), std::int64_t{0});
  record.groups = train_.prompts_per_step;
  record.reward = scored.reward_B.mean().item<double>();
  record.solved = static_cast<double>(solved) / responses();
  record.response_length = tokens / responses();
  record.forwards_per_response = written.forwards_B.to(at::kDouble).mean().item<double>();
  record.tokens_per_second = tokens / record.seconds->rollout;
  const auto logprob_BL = written.commit_logprob_BL.mul(written.valid_BL);
  if (tokens > 0) record.token_surprisal = -logprob_BL.sum(at::kDouble).item<double>() / tokens;
}

void StepMetrics::take(const std::vector<RolloutCorrection>& corrections) {
  double sum = 0, tokens = 0, capped = 0, rows = 0;
  for (const RolloutCorrection& correction : corrections) {
    sum += correction.weight_sum;
    tokens += static_cast<double>(correction.tokens);
    capped += static_cast<double>(correction.capped);
    rows += static_cast<double>(correction.rows);
  }
  record.rollout_weight = sum / tokens;
  record.rollout_capped = capped / tokens;
  record.update_forwards_per_response = rows / responses();
}

void StepMetrics::take(const UpdateResult& result, const std::string& loss) {
  record.loss = result.loss;
  record.grad_norm = result.gradient_norm;
  record.loss_metrics = result.metrics;
  if (!result.has_gradient)
    record.warnings.push_back("the loss `" + loss +
                              "` has no gradient, though advantages differ; nothing is learned from these responses");
  const double before = std::isnan(record.update_forwards_per_response) ? 0 : record.update_forwards_per_response;
  record.update_forwards_per_response = before + static_cast<double>(result.forward_rows) / responses();
  record.update_backwards_per_response = static_cast<double>(result.backward_rows) / responses();
  record.two_pass = result.two_pass;
  record.seconds->old += result.old_seconds;
  record.seconds->reference = result.reference_seconds;
  record.seconds->update = result.gradient_seconds;
  for (const at::Tensor& logprob : result.logprobs) show("log_probabilities", logprob);
}

void StepMetrics::skip(const std::string& why) {
  record.skipped = true;
  if (!why.empty()) record.warnings.push_back(why);
}

void StepMetrics::show_responses(const std::vector<TaskItem>& items, const Trajectories& written,
                                 const ScoredResponses& scored, const Tokenizer& tokenizer) {
  if (!report_.tensorboard) return;
  show("rewards", scored.reward_B);
  show("rollout_log_probabilities", written.commit_logprob_BL.masked_select(written.valid_BL));
  // The first response of every group, then the second ones.
  for (std::int64_t n = 0; n < std::min(report_.samples, train_.prompts_per_step * train_.group_size); ++n) {
    const std::int64_t item = n % train_.prompts_per_step, b = item * train_.group_size + n / train_.prompts_per_step;
    record.samples.push_back({items[static_cast<std::size_t>(item)].prompt, response_text(written, b, tokenizer),
                              scored.reward_B[b].item<double>(), scored.solved[static_cast<std::size_t>(b)] != 0});
  }
}

void StepMetrics::show_advantages(const Trajectories& kept, const std::vector<MaskPlan>& plans,
                                  const at::Tensor& advantage_B, const std::vector<TokenAdvantages>& tokens) {
  show("advantages", advantage_B);
  for (std::size_t p = 0; report_.tensorboard && p < tokens.size(); ++p) {
    const auto scored_BL = scored_tokens(plans[p], kept.tokens_BL.size(0));
    show("token_advantages", tokens[p].advantage_BL.expand_as(kept.tokens_BL).masked_select(scored_BL));
  }
}

void StepMetrics::show(const std::string& name, const at::Tensor& values) {
  if (!report_.tensorboard) return;
  const auto numbers = values.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* const first = numbers.const_data_ptr<double>();
  std::vector<double>& all = record.distributions[name];
  all.insert(all.end(), first, first + numbers.numel());
}

}  // namespace drift
