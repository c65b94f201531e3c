#include <core/eval/held_out.h>

#include <core/base/phase_timer.h>
#include <core/io/json.h>
#include <core/record/estimate.h>
#include <core/rollout/response_text.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace drift {

HeldOutResult evaluate_held_out(const HeldOutSettings& settings, std::vector<AnsweredItem>& answers) {
  const PhaseTimer timer;
  const std::int64_t samples = settings.answers.samples, apart = settings.split.validation * samples;
  const std::int64_t total = apart + settings.split.items * samples;

  answers.clear();
  std::int64_t solved = 0, judged = 0, forwards = 0;
  std::vector<double> validation;  // of each response that is judged
  for (std::int64_t first = 0; first < total; first += settings.batch_size) {
    const std::int64_t count = std::min(settings.batch_size, total - first);
    std::vector<AnsweredItem> batch = write_answers(settings.answers, first, count);
    if (settings.answers.cancelled != nullptr && *settings.answers.cancelled) return {};
    judge_answers(*settings.answers.ranks, *settings.judge, batch);
    for (AnsweredItem& answered : batch) {
      const bool is_judged = answered.judgement.status != RewardStatus::kInfrastructure;
      if (std::ssize(answers) < apart) {
        if (is_judged) validation.push_back(answered.judgement.solved ? 1 : 0);
      } else {
        solved += answered.judgement.solved ? 1 : 0;
        judged += is_judged ? 1 : 0;
      }
      forwards += answered.forwards;
      answers.push_back(std::move(answered));
    }
    if (settings.progress) settings.progress(first + count, total);
  }
  const auto n = static_cast<double>(std::max<std::int64_t>(1, judged));
  HeldOutResult result;
  result.items = judged / samples;
  result.accuracy = static_cast<double>(solved) / n;
  // The samples of one item are not independent: items count, not responses.
  result.standard_error = std::sqrt(result.accuracy * (1.0 - result.accuracy) * static_cast<double>(samples) / n);
  result.forwards_per_response = static_cast<double>(forwards) / static_cast<double>(std::max<std::int64_t>(1, total));
  result.seconds = timer.seconds();
  result.validation = estimate(validation).mean;
  return result;
}

namespace {

/// With its members in this order, if Json keeps it.
template <class Json>
Json sample_json(const AnsweredItem& answered, std::int64_t step, const Tokenizer& tokenizer) {
  std::vector<double> probabilities;
  for (const float logprob : answered.commit_logprob) probabilities.push_back(std::exp(static_cast<double>(logprob)));
  return {{"step", step},
          {"prompt", answered.item.prompt},
          {"response", answered.response},
          {"tokens", display_pieces(answered.token_ids, tokenizer)},
          {"commit_step", answered.commit_step},
          {"commit_probability", probabilities},
          {"reward", answered.judgement.value},
          {"solved", answered.judgement.solved},
          {"reason", answered.judgement.reason}};
}

}  // namespace

std::string samples_json(const std::vector<AnsweredItem>& answers, std::int64_t step, const Tokenizer& tokenizer,
                         std::int64_t count) {
  auto samples = nlohmann::ordered_json::array();
  for (const bool solved : {true, false}) {
    std::int64_t taken = 0;
    for (const AnsweredItem& answered : answers) {
      if (answered.judgement.solved != solved || taken == count) continue;
      ++taken;
      samples.push_back(sample_json<nlohmann::ordered_json>(answered, step, tokenizer));
    }
  }
  return json_text(samples, 1);
}

nlohmann::json first_samples(const std::vector<AnsweredItem>& answers, std::int64_t step, const Tokenizer& tokenizer,
                             std::int64_t count) {
  auto samples = nlohmann::json::array();
  for (const AnsweredItem& answered : answers) {
    if (std::ssize(samples) < count) samples.push_back(sample_json<nlohmann::json>(answered, step, tokenizer));
  }
  return samples;
}

}  // namespace drift
