#pragma once

// Which denoising steps of a response are scored: the steps that the model was least sure of, drawn without
// replacement (docs/spec/rldf.md 2.2; paper, Algorithm "Weighted Timestep Sampling").

#include <drift/plan_builder.h>
#include <drift/random.h>

#include <cstdint>
#include <vector>

namespace drift::rldf {

/// The steps of one response that committed a valid token, ascending. A step's index here is its dense number.
struct CandidateSteps {
  std::vector<std::int32_t> raw_step;  ///< as the rollout numbered it
  std::vector<double> surprisal;       ///< u_s
};

/// Equation (step_weight): u_s = -(1 / |I_s|) sum over I_s of ln max(p_i, 1e-10), I_s = the valid tokens committed at
/// s.
CandidateSteps candidate_steps(const Response& response, std::int64_t length);

/// Equation (step_softmax): w_s = softmax(u / tau)_s. tau = 0: all weight on the largest u_s.
std::vector<double> step_weights(const std::vector<double>& surprisal, double temperature);

/// The candidates in the order in which sampling without replacement from w draws them. Candidate s draws at `point`
/// with position s.
std::vector<std::int64_t> draw_order(const std::vector<double>& surprisal, double temperature,
                                     const RandomStream& random, RandomPoint point);

/// A response with n < k candidates: all of them, ascending, then repeats until there are k. The release repeats them
/// evenly where w is uniform, and draws with replacement from w where it is not.
std::vector<std::int64_t> repeat_to(std::int64_t k, const std::vector<double>& surprisal, double temperature,
                                    const RandomStream& random, RandomPoint point);

}  // namespace drift::rldf
