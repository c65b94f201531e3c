#include <core/boundary/model_policy.h>

#include <core/boundary/checked.h>
#include <core/kernels/product.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>

namespace drift {
namespace {

/// @throws Error if the input needs a capability that the model lacks.
void check_capabilities(const Model& model, const ForwardInput& input) {
  const auto refuse = [&](const char* what) {
    throw Error("the model family " + model.traits().family + " " + what, "choose a model that supports it");
  };
  if ((input.positions_BS.defined() || input.block_BS.defined()) && !capability<BlockAttention>(model)) {
    refuse("computes entire sequences with attention in both directions, not blocks of them");
  }
  if (input.adapted_B.defined() && !capability<Adapters>(model)) refuse("has no adapters to switch off");
}

}  // namespace

at::Tensor ModelPolicy::logits(const ForwardInput& input, const ForwardCache& cache) const {
  check_capabilities(model_, input);
  ForwardInput shifted = input;
  if (traits().prediction_row == PredictionRow::kPrevious) shifted.rows_N = input.rows_N - 1;
  at::Tensor hidden_NH;
  if (cache.cache == nullptr) {
    hidden_NH = checked_forward(model_, shifted);
  } else if (capability<CachedForward>(model_) != nullptr && cache.window != nullptr) {
    hidden_NH = checked_window(model_, shifted, *cache.window, *cache.cache);
  } else {
    throw Error("a forward with a cache needs a model with caches and the window to compute", "ask make_cache() first");
  }
  return kernels::product(hidden_NH, model_.lm_head_VH());
}

SampledTokens ModelPolicy::sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                                  const at::Tensor& uniform_M, const SamplingOptions& options) const {
  return sample_tokens(logits(input, cache), row_M, uniform_M, options);
}

std::unique_ptr<KeyValueCache> ModelPolicy::make_cache(std::int64_t rows, std::int64_t positions) const {
  return checked_cache(model_, rows, positions);
}

}  // namespace drift
