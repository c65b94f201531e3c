#include <core/boundary/checks.h>
#include <core/boundary/tensor_words.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/any.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>

namespace drift {
namespace {

constexpr const char* kTrajectoriesHint = "drift/trajectories.h says what each field holds";
constexpr const char* kIdsHint =
    "only `drift rollout verify` takes such a response, of a rollout that imitates an original; in another rollout it "
    "is a mistake";
constexpr double kRounding = 1e-3;  // of a log-probability that is 0

/// @throws Error with the first place where `wrong_BL` holds, and the value there.
void require_nowhere(const at::Tensor& wrong_BL, const at::Tensor& values_BL, const std::string& what,
                     const char* hint = kTrajectoriesHint) {
  if (!wrong_BL.any().item<bool>()) return;
  const std::int64_t place = wrong_BL.flatten().to(at::kInt).argmax().item<std::int64_t>();
  const std::int64_t length = wrong_BL.dim() == 2 ? wrong_BL.size(1) : 1;
  const auto value = values_BL.flatten()[place];
  const std::string number = at::isFloatingType(value.scalar_type()) ? std::to_string(value.item<double>())
                                                                     : std::to_string(value.item<std::int64_t>());
  throw Error(what + ": " + number + " at position " + std::to_string(place % length) + " of response " +
                  std::to_string(place / length),
              hint);
}

}  // namespace

void check_trajectories(const RolloutInput& input, std::int64_t length, Trajectories& made) {
  const std::int64_t responses = input.prompts.tokens_BP.size(0);
  const auto require = [&](const char* name, at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes) {
    require_tensor(name, tensor, type, sizes, at::kCPU, kTrajectoriesHint);
    tensor = tensor.contiguous();
  };
  require("tokens_BL", made.tokens_BL, at::kLong, {responses, length});
  require("valid_BL", made.valid_BL, at::kBool, {responses, length});
  require("step_BL", made.step_BL, at::kInt, {responses, length});
  require("commit_logprob_BL", made.commit_logprob_BL, at::kFloat, {responses, length});
  require("forwards_B", made.forwards_B, at::kLong, {responses});
  const Prompts &asked = input.prompts, &kept = made.prompts;
  const auto same = [](const at::Tensor& a, const at::Tensor& b) {
    return a.defined() == b.defined() && (!a.defined() || (a.scalar_type() == b.scalar_type() && at::equal(a, b)));
  };
  if (!same(asked.tokens_BP, kept.tokens_BP) || !same(asked.mask_BP, kept.mask_BP) ||
      !same(asked.group_B, kept.group_B))
    throw Error("`prompts` of the trajectories are not those that it was given",
                "trajectories.prompts = input.prompts");
  if (responses == 0) return;

  const std::int64_t vocabulary = input.policy->traits().vocabulary_size;
  require_nowhere((made.tokens_BL < 0) | (made.tokens_BL >= vocabulary), made.tokens_BL,
                  "`tokens_BL` holds an id outside the model's vocabulary of " + std::to_string(vocabulary));
  require_nowhere((made.step_BL < -1) | (made.step_BL >= made.forwards_B.unsqueeze(1)), made.step_BL,
                  "`step_BL` must be the number of a forward that the response took part in, or -1");
  const at::Tensor& logprob_BL = made.commit_logprob_BL;
  require_nowhere(at::isfinite(logprob_BL).logical_not() | (logprob_BL > kRounding), logprob_BL,
                  "`commit_logprob_BL` must hold finite logarithms of probabilities");
  require_nowhere((made.step_BL < 0) & (logprob_BL != 0), logprob_BL,
                  "`commit_logprob_BL` must be 0 where `step_BL` is -1");
}

void check_written_ids(const ModelTraits& traits, const Trajectories& made) {
  if (made.tokens_BL.numel() == 0) return;
  const at::Tensor& tokens_BL = made.tokens_BL;
  require_nowhere(tokens_BL == traits.mask_id, tokens_BL, "`tokens_BL` still holds the mask token", kIdsHint);
  for (const auto& [begin, end] : traits.forbidden_output_ids) {
    require_nowhere((tokens_BL >= begin) & (tokens_BL < end), tokens_BL,
                    "`tokens_BL` holds an id that the model forbids in responses", kIdsHint);
  }
  require_nowhere(made.valid_BL != (tokens_BL != traits.pad_id), tokens_BL,
                  "`valid_BL` must be true where a token is not padding, and false where it is");
}

}  // namespace drift
