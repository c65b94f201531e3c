#pragma once

#include <core/config/training_settings.h>

#include <drift/random.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// The results of a rollout, response by response; the `group_size` responses of a group are adjacent.
struct GroupFilterInput {
  at::Tensor rewards_B;         ///< any floating type
  at::Tensor steps_B;           ///< int64, number of denoising steps; read by kKeepConstantGroups only
  std::int64_t group_size = 0;  ///< G
  RandomStream random{0, ""};   ///< drawn at RandomPoint{step, group, 0, 0}
  std::int64_t step = 0;
  at::Tensor solved_B;  ///< bool; read if the settings bound the fraction of solved responses
};

/// Chooses the groups that are trained on, of those within the bounds of success. A group varies if the sample standard
/// deviation of its rewards exceeds 1e-8. Varying groups come first, a uniform choice of them if there are more than
/// max_groups. kKeepConstantGroups then fills up with groups that are all right (equal rewards above 0) in random
/// order, then with groups that are all wrong, those with the largest mean number of steps first.
/// @return group numbers, ascending.
std::vector<std::int64_t> kept_groups(const GroupFilterInput& input, const GroupFilterSettings& settings);

/// Numbers of the responses of these groups, group by group: int64.
at::Tensor responses_of(const std::vector<std::int64_t>& groups, std::int64_t group_size);

}  // namespace drift
