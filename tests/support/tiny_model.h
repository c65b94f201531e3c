#pragma once

#include <drift/model.h>
#include <drift/trajectories.h>

#include <cstdint>

namespace drift::test {

/// A model of a few numbers whose every output depends on every token of the sequence: hidden = tanh(embedding +
/// position + mean of all embeddings, mixed). Any type, so that gradients can be checked in float64. Mask id 1, pad and
/// end id 0.
class TinyModel : public Model {
 public:
  TinyModel(std::int64_t vocabulary, std::int64_t hidden, at::ScalarType type,
            PredictionRow row = PredictionRow::kSame);

  at::Device device() const override { return head_VH_.device(); }
  at::ScalarType dtype() const override { return head_VH_.scalar_type(); }
  const ModelTraits& traits() const override { return traits_; }
  void also_ends_with(std::int64_t token) { traits_.further_end_ids[0] = token; }
  at::Tensor forward(const ForwardInput& input) const override;
  at::Tensor lm_head_VH() const override { return head_VH_; }
  std::vector<NamedTensor> parameters() const override;
  void initialize(const RandomStream& random) override;
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override;

 private:
  ModelTraits traits_;
  at::Tensor embedding_VH_, position_SH_, mix_HH_, head_VH_;
};

/// `responses` finished responses in groups of `group_size` with random tokens, steps and commit probabilities; the
/// last `padding` positions of odd responses are padding.
Trajectories make_trajectories(std::int64_t responses, std::int64_t group_size, std::int64_t prompt,
                               std::int64_t length, std::int64_t vocabulary, std::int64_t padding);

}  // namespace drift::test
