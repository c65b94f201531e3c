#pragma once

#include <drift/random.h>

#include <core/lab/fidelity/decoder.h>
#include <core/lab/fidelity/estimator.h>
#include <core/lab/fidelity/moments.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace drift {

/// How many draws of an estimator are compared with the exact gradient.
struct StudySettings {
  std::int64_t draws = 0;
  std::int64_t batches = 20;             ///< of the jackknife; at most half as many as draws
  std::int64_t group_size = 0;           ///< responses of a draw
  std::vector<std::int64_t> views = {};  ///< independent plans that are averaged; ascending
};

/// What is known of an estimator that averages so many plans.
struct StudyRow {
  std::int64_t views = 0;
  Fidelity fidelity;
  double forwards = 0;        ///< of one draw: those of the decoder, and the masked sequences that are scored
  std::int64_t contexts = 0;  ///< that a plan may have of one response
  std::int64_t steps = 0;     ///< of the decoder, the most that a response took
};

/// What an estimator estimates, and from which responses.
struct StudySubject {
  const ResponseSpace* space = nullptr;
  const TableDecoder* decoder = nullptr;
  const GradientEstimator* estimator = nullptr;
  at::Tensor reward;    ///< float64 [responses]
  at::Tensor target_P;  ///< the exact gradient
  std::function<at::Tensor(const at::Tensor& reward_B)> advantages;
};

/// One row for each number of views. A draw is one group of responses with plans of their own; the plans of fewer views
/// are the first ones of more.
std::vector<StudyRow> study_estimator(const StudySubject& subject, const StudySettings& settings,
                                      const RandomStream& random);

}  // namespace drift
