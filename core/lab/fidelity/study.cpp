#include <core/lab/fidelity/study.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/index_select.h>

#include <algorithm>

namespace drift {

std::vector<StudyRow> study_estimator(const StudySubject& subject, const StudySettings& settings,
                                      const RandomStream& random) {
  std::vector<GradientMoments> moments;
  for (std::size_t k = 0; k < settings.views.size(); ++k) moments.emplace_back(subject.target_P, settings.batches);
  std::vector<double> forwards(settings.views.size(), 0);
  std::int64_t contexts = 0, steps = 0;
  const RandomStream rollout = random.child("rollout"), masking = random.child("masking");
  for (std::int64_t draw = 0; draw < settings.draws; ++draw) {
    const auto responses = subject.decoder->write(settings.group_size, rollout, draw);
    const auto reward_B = subject.reward.index_select(0, subject.space->number_B(responses.tokens_BL));
    const auto advantage_B = subject.advantages(reward_B);
    steps = std::max(steps, responses.step_BL.max().item<std::int64_t>() + 1);
    const auto written = responses.forwards_B.sum().item<double>();
    const auto means = subject.estimator->means(responses, advantage_B, masking, draw, settings.views);
    for (std::size_t k = 0; k < means.size(); ++k) {
      moments[k].add(means[k].gradient_P);
      forwards[k] += (written + static_cast<double>(means[k].rows)) / static_cast<double>(settings.draws);
      contexts = std::max(contexts, means[k].contexts);
    }
  }
  std::vector<StudyRow> rows;
  for (std::size_t k = 0; k < settings.views.size(); ++k) {
    rows.push_back({settings.views[k], moments[k].fidelity(), forwards[k], contexts, steps});
  }
  return rows;
}

}  // namespace drift
