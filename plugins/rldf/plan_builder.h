#pragma once

#include <drift/mask_plan.h>
#include <drift/trajectories.h>

#include <cstdint>
#include <vector>

namespace drift::rldf {

/// One response of a rollout, seen through plain pointers to its L positions.
struct Response {
  const bool* valid;
  const std::int32_t* step;
  const float* commit_logprob;
};

/// Contiguous copies of the rollout's tensors, where they are not contiguous already.
class Responses {
 public:
  explicit Responses(const Trajectories& trajectories);
  std::int64_t size() const { return valid_.size(0); }
  std::int64_t length() const { return valid_.size(1); }
  Response operator[](std::int64_t b) const;

 private:
  at::Tensor valid_;
  at::Tensor step_;
  at::Tensor commit_logprob_;
};

/// Collects views one by one and turns them into a plan.
class PlanBuilder {
 public:
  explicit PlanBuilder(std::int64_t length) : length_(length) {}

  /// A new view with nothing masked, nothing scored, weight 1.
  void begin_view(std::int64_t sample, std::int64_t forward, std::int64_t step);
  /// Of the newest view.
  void mask(std::int64_t position) { masked_[offset() + position] = true; }
  void score(std::int64_t position, bool committed);
  void weigh(double weight) { weight_.back() = static_cast<float>(weight); }

  MaskPlan finish(std::int64_t forwards) const;

 private:
  std::size_t offset() const { return masked_.size() - static_cast<std::size_t>(length_); }

  std::int64_t length_;
  std::vector<std::int64_t> sample_, forward_, step_;
  std::vector<std::uint8_t> masked_, target_, committed_;
  std::vector<float> weight_;
};

}  // namespace drift::rldf
