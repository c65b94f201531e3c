#include <core/train/pretraining.h>

#include <core/base/phase_timer.h>
#include <core/base/trainable.h>
#include <core/train/memory_plan.h>
#include <core/train/training_task.h>
#include <core/update/policy_gradient.h>

#include <drift/error.h>
#include <drift/loss_estimator.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace drift {
namespace {

/// The weight of a view is that of its masked tokens; the core's gradient machinery does the rest.
class LikelihoodLoss final : public LossEstimator {
 public:
  Coupling coupling() const override { return Coupling::kView; }

  Loss evaluate(const LossInput& input) const override {
    const auto length = static_cast<double>(input.plan.target_FL.size(1));
    const auto weighted_FL = input.plan.weight_F.unsqueeze(1) * input.log_probs.current_FL;
    return {-weighted_FL.sum() / (length * static_cast<double>(input.totals.responses)), {}};
  }
};

LikelihoodMasks masks_from(const PretrainSettings& settings) {
  const auto length = settings.response_length, block = settings.block;
  return {length, block == 0 ? length : std::min(block, length), settings.minimum_mask_ratio};
}

}  // namespace

MaskPlan LikelihoodMasks::draw(const RandomStream& random, std::int64_t step, std::int64_t responses) const {
  const auto ratio_random = random.child("mask ratio"), mask_random = random.child("mask");
  const auto block_random = random.child("block");
  const std::int64_t blocks = (response_length + block - 1) / block;
  MaskPlan plan;
  plan.terms = 1;
  plan.response_F = at::arange(responses, at::kLong);
  plan.term_F = at::zeros({responses}, at::kLong);
  plan.masked_FL = at::zeros({responses, response_length}, at::kBool);
  plan.target_FL = at::zeros({responses, response_length}, at::kBool);
  plan.weight_F = at::empty({responses}, at::kFloat);
  for (std::int64_t b = 0; b < responses; ++b) {
    const double ratio = minimum_ratio + (1.0 - minimum_ratio) * ratio_random.uniform({step, b, 0, 0});
    const auto chosen = static_cast<std::int64_t>(block_random.uniform({step, b, 0, 0}) * static_cast<double>(blocks));
    const std::int64_t begin = chosen * block, end = std::min(begin + block, response_length);
    plan.weight_F.data_ptr<float>()[b] = static_cast<float>(static_cast<double>(blocks) / ratio);
    for (std::int64_t i = begin; i < response_length; ++i) {
      const bool is_masked = i >= end || mask_random.uniform({step, b, i, 0}) < ratio;
      plan.masked_FL.data_ptr<bool>()[b * response_length + i] = is_masked;
      plan.target_FL.data_ptr<bool>()[b * response_length + i] = is_masked && i < end;
    }
  }
  return plan;
}

Pretraining::Pretraining(Ranks& ranks, const RunConfig& config, const Model& model, const PromptEncoder& prompts,
                         Loaded<Task> task)
    : ranks_(ranks),
      model_(model),
      prompts_(prompts),
      task_(std::move(task)),
      shard_(shard_of(config)),
      settings_(config.get<PretrainSettings>()),
      optimizer_(ranks, trainable_parameters(model),
                 {settings_.adamw, settings_.steps, config.get<RunSettings>().seed, shard_ != Shard::kNone},
                 weight_shares(model)),
      random_(config.get<RunSettings>().seed, "pretrain"),
      drops_inputs_(drops_inputs(config)),
      masks_(masks_from(settings_)) {}

Trajectories Pretraining::demonstrations(std::int64_t step) const {
  const auto& traits = model_.traits();
  const std::vector<TaskItem> items =
      draw_items(*task_, (step - 1) * settings_.batch_size, settings_.batch_size, random_.child("task"));
  Trajectories batch;
  batch.prompts = prompts_.encode(items, 1, settings_.response_length);
  batch.tokens_BL = at::full({settings_.batch_size, settings_.response_length}, traits.pad_id, at::kLong);
  for (std::int64_t b = 0; b < settings_.batch_size; ++b) {
    const TaskItem& item = items[static_cast<std::size_t>(b)];
    const auto ids = prompts_.tokenizer().encode(item.demonstration);
    if (ids.empty() || static_cast<std::int64_t>(ids.size()) > settings_.response_length) {
      throw Error("the demonstration of item `" + item.id + "` has " + std::to_string(ids.size()) +
                      " tokens; pretrain.response_length is " + std::to_string(settings_.response_length),
                  ids.empty() ? "this task has no demonstrations to imitate" : "raise pretrain.response_length");
    }
    std::int64_t* const to = batch.tokens_BL.data_ptr<std::int64_t>() + b * settings_.response_length;
    std::copy(ids.begin(), ids.end(), to);
    if (static_cast<std::int64_t>(ids.size()) < settings_.response_length) to[ids.size()] = traits.end_id;
  }
  batch.valid_BL = at::ones({settings_.batch_size, settings_.response_length}, at::kBool);
  batch.step_BL = at::zeros({settings_.batch_size, settings_.response_length}, at::kInt);
  return batch;
}

StepRecord Pretraining::run(std::int64_t step) {
  const PhaseTimer timer;
  StepRecord metrics;
  metrics.step = step;
  metrics.learning_rate = optimizer_.learning_rate();
  const auto trajectories = demonstrations(step);
  const auto plan = masks_.draw(random_, step, settings_.batch_size);
  const PhaseTimer update_timer;
  const auto advantage_B = at::ones({settings_.batch_size}, at::kFloat);
  UpdateBatch batch = update_batch(trajectories, advantage_B, plan, /*group_size=*/1);
  if (drops_inputs_) batch.adapters.dropout = random_.child("adapter dropout").child(std::to_string(step));
  auto gradient = policy_gradient(ranks_, model_, LikelihoodLoss(), batch, settings_.memory_budget, shard_);
  metrics.grad_norm = optimizer_.step(std::move(gradient.gradients));
  metrics.loss = gradient.loss;
  metrics.update_forwards_per_response = static_cast<double>(gradient.rows) / static_cast<double>(settings_.batch_size);
  metrics.update_backwards_per_response =
      static_cast<double>(gradient.backward_rows) / static_cast<double>(settings_.batch_size);
  metrics.seconds = StepSeconds{.update = update_timer.seconds(), .total = timer.seconds()};
  const std::int64_t sequence = trajectories.prompts.tokens_BP.size(1) + settings_.response_length;
  metrics.tokens_per_second = static_cast<double>(settings_.batch_size * sequence) / metrics.seconds->total;
  return metrics;
}

}  // namespace drift
