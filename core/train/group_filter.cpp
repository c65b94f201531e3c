#include <core/train/group_filter.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace drift {
namespace {

constexpr double kSmallestDeviation = 1e-8;

// In the order in which groups are taken.
enum class Rank { kVarying, kAllRight, kAllWrong };

struct Group {
  std::int64_t number;
  Rank rank;
  double order;  // ascending within a rank
};

double mean(const double* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += values[i];
  return sum / static_cast<double>(count);
}

bool varies(const double* rewards, std::int64_t count) {
  if (count < 2) return false;
  const double centre = mean(rewards, count);
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) squares += (rewards[i] - centre) * (rewards[i] - centre);
  return std::sqrt(squares / static_cast<double>(count - 1)) > kSmallestDeviation;
}

/// For each group, whether its fraction of solved responses is within the bounds.
std::vector<bool> within_bounds(const GroupFilterInput& input, std::int64_t count,
                                const GroupFilterSettings& settings) {
  std::vector<bool> within(static_cast<std::size_t>(count), true);
  if (settings.success_low <= 0 && settings.success_high >= 1) return within;
  const auto solved_N = input.solved_B.to(at::kCPU, at::kLong).view({count, input.group_size}).sum(1);
  for (std::int64_t g = 0; g < count; ++g) {
    const auto solved = static_cast<double>(solved_N.const_data_ptr<std::int64_t>()[g]);
    const double fraction = solved / static_cast<double>(input.group_size);
    within[static_cast<std::size_t>(g)] = fraction >= settings.success_low && fraction <= settings.success_high;
  }
  return within;
}

}  // namespace

std::vector<std::int64_t> kept_groups(const GroupFilterInput& input, const GroupFilterSettings& settings) {
  const std::int64_t size = input.group_size;
  assert(size >= 1 && input.rewards_B.size(0) % size == 0);
  const std::int64_t count = input.rewards_B.size(0) / size;
  const bool fill = settings.fill == GroupFill::kKeepConstantGroups;
  const auto within = within_bounds(input, count, settings);
  const std::int64_t candidates = std::count(within.begin(), within.end(), true);
  const std::int64_t limit = settings.max_groups > 0 ? std::min(settings.max_groups, candidates) : candidates;
  const bool keep_all = limit == candidates && (fill || !settings.require_variance);

  const auto rewards_B = input.rewards_B.to(at::kCPU, at::kDouble).contiguous();
  const auto steps_B = fill ? input.steps_B.to(at::kCPU, at::kDouble).contiguous() : at::Tensor();
  std::vector<Group> groups;
  for (std::int64_t g = 0; g < count; ++g) {
    if (!within[static_cast<std::size_t>(g)]) continue;
    const double* rewards = rewards_B.const_data_ptr<double>() + g * size;
    Group group{g, Rank::kVarying, input.random.uniform({input.step, g, 0, 0})};
    if (!keep_all && settings.require_variance && !varies(rewards, size)) {
      if (!fill) continue;
      group.rank = mean(rewards, size) > 0 ? Rank::kAllRight : Rank::kAllWrong;
      if (group.rank == Rank::kAllWrong) group.order = -mean(steps_B.const_data_ptr<double>() + g * size, size);
    }
    groups.push_back(group);
  }

  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.order < b.order;
  });
  std::vector<std::int64_t> kept;
  for (const Group& group : groups) {
    if (static_cast<std::int64_t>(kept.size()) < limit) kept.push_back(group.number);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

at::Tensor responses_of(const std::vector<std::int64_t>& groups, std::int64_t group_size) {
  std::vector<at::Tensor> numbers;
  for (const std::int64_t group : groups)
    numbers.push_back(at::arange(group * group_size, (group + 1) * group_size, at::kLong));
  return at::cat(numbers);
}

}  // namespace drift
