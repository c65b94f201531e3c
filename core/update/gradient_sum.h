#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Gradients from several workers, added up in a fixed order: the same bits in every run with the same number of
/// workers. Sums are float32 for parameters of a narrower type, whose own type would drop what a later part adds.
///
/// A backward's gradient of a parameter is added as soon as it is known, and freed: besides the sum, a few of them are
/// in memory at a time, not one for each parameter. For that the sum takes every gradient that reaches its parameters
/// while it lives; so a parameter is in one sum at a time.
class GradientSum {
 public:
  GradientSum(std::vector<at::Tensor> parameters, std::int64_t workers);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// Take `gradient_E` backwards through the graph of `output_E` and add to this worker's share. Workers may call at
  /// the same time.
  void backward(std::int64_t worker, const std::vector<at::Tensor>& outputs,
                const std::vector<at::Tensor>& output_gradients);

  /// Add the gradient of one parameter, dense or sparse, to this worker's share. The tensor may become the share.
  void add(std::int64_t worker, std::size_t parameter, at::Tensor gradient);

  /// One gradient for each parameter; zeros where nothing was added. Resets the sum.
  std::vector<at::Tensor> take_total();

  const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
  /// Of one worker and parameter. A table as large as a vocabulary gets few rows at a time: they are kept as they are,
  /// and the table is not made before the end.
  struct Share {
    at::Tensor sum;  ///< undefined if nothing was added
    std::vector<at::Tensor> rows;
  };

  struct Hook;

  std::vector<at::Tensor> parameters_;
  std::vector<std::vector<Share>> shares_;
};

}  // namespace drift
