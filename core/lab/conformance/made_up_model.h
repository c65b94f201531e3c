#pragma once

// A small model for rollouts to ask: every token sees the mean of all tokens, and where it stands.

#include <drift/cached_forward.h>
#include <drift/model.h>

namespace drift {

/// A vocabulary of kVocabulary ids, of which kMaskId is forbidden and kPadId both pads and ends. Row b of a batch gives
/// what its sequence alone gives, and left padding changes nothing.
class MadeUpModel final : public Model, public CachedForward {
 public:
  explicit MadeUpModel(at::ScalarType dtype);

  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return at::kCPU; }
  at::ScalarType dtype() const override { return token_VH_.scalar_type(); }
  at::Tensor forward(const ForwardInput& input) const override;
  at::Tensor lm_head_VH() const override { return head_VH_; }
  std::vector<NamedTensor> parameters() const override { return {{"token", token_VH_}, {"head", head_VH_}}; }
  void initialize(const RandomStream&) override {}
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override;

  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override;
  at::Tensor forward_window(const ForwardInput& input, const CacheWindow& window, KeyValueCache& cache) const override;

 private:
  ModelTraits traits_;
  at::Tensor token_VH_, head_VH_;
};

}  // namespace drift
