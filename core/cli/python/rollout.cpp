// Drift's decoders on a function of Python.

#include <core/boundary/checked.h>
#include <core/cli/python/module.h>
#include <core/python/structures.h>
#include <core/python/tensors.h>

#include <drift/policy.h>
#include <drift/rollout.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <mutex>

namespace drift::python {
namespace {

/// What a function `forward(tokens [B, S], mask [B, S] or None) -> logits [B, S, V]` predicts: position j of a text is
/// row j of its logits. It has no caches.
class FunctionPolicy final : public Policy {
 public:
  FunctionPolicy(Object function, ModelTraits traits, at::Device device)
      : function_(std::move(function)), traits_(std::move(traits)), device_(device) {}

  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return device_; }

  at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const override {
    if (cache.cache != nullptr || input.block_BS.defined())
      throw Error("a function of Python computes whole texts, without caches and blocks of attention",
                  "choose a rollout without a cache: name = \"block\", cache = \"none\"");
    const std::lock_guard one_at_a_time(mutex_);
    const Gil gil;
    const Object arguments = tuple({wrapped(input.tokens_BS), wrapped(input.key_mask_BS)});
    const at::Tensor logits_BSV = unwrapped(Object::made(api.PyObject_CallObject(function_.get(), arguments.get())));
    return logits_BSV.reshape({-1, logits_BSV.size(-1)}).index_select(0, input.rows_N);
  }

  SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M, const SamplingOptions& options) const override {
    return sample_tokens(logits(input, cache), row_M, uniform_M, options);
  }

  std::unique_ptr<KeyValueCache> make_cache(std::int64_t, std::int64_t) const override { return nullptr; }

 private:
  Object function_;
  ModelTraits traits_;
  at::Device device_;
  mutable std::mutex mutex_;
};

struct DecoderOfFunction {
  std::shared_ptr<Rollout> rollout;
  std::atomic<bool> cancelled = false;
};

Object make_rollout(const Object& given) {
  const auto made = std::make_shared<DecoderOfFunction>();
  made->rollout = component_in<Rollout>(given[0], given[1]);
  return held(made);
}

/// (rollout, function, (vocabulary, mask, padding, end, context, forbidden ids), device, (prompt tokens, mask, group),
/// (seed, first, step)) → trajectories. With a step the numbers drawn are those of that step of a run.
Object decode_by(const Object& given) {
  auto& decoder = holding_a<DecoderOfFunction>(given[0]);
  ModelTraits traits;
  traits.family = "function";
  std::int64_t next = 0;
  for (std::int64_t* number :
       {&traits.vocabulary_size, &traits.mask_id, &traits.pad_id, &traits.end_id, &traits.context_length})
    *number = given[2][next++].integer();
  for (const Object& range : given[2][5].items())
    traits.forbidden_output_ids.emplace_back(range[0].integer(), range[1].integer());
  const FunctionPolicy policy(given[1], traits, at::Device(given[3].text()));
  RolloutInput input;
  input.policy = &policy;
  input.prompts = {unwrapped(given[4][0]), unwrapped(given[4][1]), unwrapped(given[4][2]), {}};
  const auto seed = static_cast<std::uint64_t>(given[5][0].integer());
  input.first_response = given[5][1].integer();
  input.step = given[5][2].integer();
  input.random = input.step > 0 ? RandomStream(seed, "train").child("rollout") : RandomStream(seed, "generate");
  decoder.cancelled = false;
  input.cancelled = &decoder.cancelled;
  Trajectories made;
  {
    const WithoutGil released;
    const at::NoGradGuard no_gradient;
    made = checked_trajectories(*decoder.rollout, input);
  }
  return fields_of(made);
}

Object cancel_rollout(const Object& given) {
  holding_a<DecoderOfFunction>(given[0]).cancelled = true;
  return none();
}

}  // namespace

std::vector<ModuleFunction> rollout_functions() {
  return {{"make_rollout", make_rollout}, {"decode_by", decode_by}, {"cancel_rollout", cancel_rollout}};
}

}  // namespace drift::python
