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
#include <utility>

namespace drift {
namespace {

LikelihoodMasks masks_from(const PretrainSettings& settings) {
  const auto length = settings.response_length, block = settings.block;
  return {length, block == 0 ? length : std::min(block, length), settings.minimum_mask_ratio,
          settings.maximum_mask_ratio};
}

NoiseRule noise_from(const PretrainSettings& settings, const ModelTraits& traits) {
  if (settings.mask_prompts && settings.noise == PretrainNoise::kLikelihood) {
    throw Error("pretrain.mask_prompts: noise likelihood masks responses alone",
                "use noise = \"text\", which has the same masks and weights");
  }
  if (settings.packed_length > 0 && traits.block_size == 0)
    throw Error("pretrain.packed_length packs rows of models with block attention", "leave it out");
  if (settings.maximum_mask_ratio < settings.minimum_mask_ratio)
    throw Error("pretrain.maximum_mask_ratio is below minimum_mask_ratio", "raise it");
  return {settings.noise, settings.minimum_mask_ratio, settings.maximum_mask_ratio,
          traits.block_size > 0 ? traits.block_size : settings.block,
          traits.prediction_row == PredictionRow::kSame || traits.first_scored_at_own_row};
}

}  // namespace

Loss PretrainingLoss::evaluate(const LossInput& input) const {
  const MaskPlan& plan = input.plan;
  if (plan.token_weight_FL.defined()) return {-(plan.token_weight_FL * input.log_probs.current_FL).sum(), {}};
  const auto length = static_cast<double>(plan.target_FL.size(1));
  const auto weighted_FL = plan.weight_F.unsqueeze(1) * input.log_probs.current_FL;
  return {-weighted_FL.sum() / (length * static_cast<double>(input.totals.responses)), {}};
}

Prompts no_prompts(std::int64_t count) {
  return {at::zeros({count, 0}, at::kLong), at::ones({count, 0}, at::kBool), at::arange(count, at::kLong)};
}

PretrainBatch responses_to_learn(Prompts prompts, const std::vector<std::vector<std::int64_t>>& responses,
                                 std::int64_t length, std::int64_t pad_id) {
  const bool is_filled = length > 0;
  std::vector<std::int64_t> sizes;
  for (const auto& response : responses) {
    sizes.push_back(std::ssize(response));
    if (!is_filled) length = std::max(length, sizes.back());
  }
  const std::int64_t count = std::ssize(responses);
  PretrainBatch batch;
  Trajectories& to = batch.trajectories;
  to.tokens_BL = at::full({count, length}, pad_id, at::kLong);
  for (std::size_t b = 0; b < responses.size(); ++b)
    std::ranges::copy(responses[b], to.tokens_BL.data_ptr<std::int64_t>() + static_cast<std::int64_t>(b) * length);
  const auto place_L = at::arange(length, at::kLong);
  batch.texts.place_BL = prompts.mask_BP.sum(1, /*keepdim=*/true) + place_L;
  if (!is_filled) batch.texts.attended_BL = place_L < index_tensor(sizes).unsqueeze(1);
  batch.texts.label_BL = is_filled ? at::ones({count, length}, at::kBool) : batch.texts.attended_BL;
  to.prompts = std::move(prompts);
  to.valid_BL = at::ones({count, length}, at::kBool);
  to.step_BL = at::zeros({count, length}, at::kInt);
  return batch;
}

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
    const double ratio = minimum_ratio + (maximum_ratio - minimum_ratio) * ratio_random.uniform({step, b, 0, 0});
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
      masks_(masks_from(settings_)),
      noise_(noise_from(settings_, model.traits())) {}

/// The demonstration and, if there is room, an end token.
std::vector<std::int64_t> Pretraining::response_ids(const TaskItem& item) const {
  auto ids = prompts_.tokenizer().encode(item.demonstration);
  if (ids.empty() || std::ssize(ids) > settings_.response_length) {
    throw Error("the demonstration of item `" + item.id + "` has " + std::to_string(ids.size()) +
                    " tokens; pretrain.response_length is " + std::to_string(settings_.response_length),
                ids.empty() ? "this task has no demonstrations to imitate" : "raise pretrain.response_length");
  }
  if (std::ssize(ids) < settings_.response_length) ids.push_back(model_.traits().end_id);
  return ids;
}

PretrainBatch Pretraining::batch(std::int64_t step) const {
  const std::vector<TaskItem> items =
      draw_items(*task_, (step - 1) * settings_.batch_size, settings_.batch_size, random_.child("task"));
  Prompts prompts = prompts_.encode(items, 1, settings_.response_length);
  std::vector<std::vector<std::int64_t>> responses;
  std::int64_t length = settings_.response_length;
  for (const TaskItem& item : items) {
    responses.push_back(settings_.mask_prompts ? prompts_.ids(item) : std::vector<std::int64_t>());
    const auto response = response_ids(item);
    responses.back().insert(responses.back().end(), response.begin(), response.end());
  }
  if (settings_.mask_prompts) {
    length += prompts.tokens_BP.size(1);
    prompts = no_prompts(settings_.batch_size);
  }
  const bool fills = settings_.noise != PretrainNoise::kText && settings_.noise != PretrainNoise::kComplementary;
  return responses_to_learn(std::move(prompts), responses, fills ? length : 0, model_.traits().pad_id);
}

StepRecord Pretraining::run(std::int64_t step) {
  const PhaseTimer timer;
  StepRecord metrics;
  metrics.step = step;
  metrics.learning_rate = optimizer_.learning_rate();
  const auto [trajectories, texts] = batch(step);
  const auto plan = settings_.noise == PretrainNoise::kLikelihood
                        ? masks_.draw(random_, step, settings_.batch_size)
                        : noise_.plan(texts, noise_.draw(texts, random_, step));
  const PhaseTimer update_timer;
  const auto advantage_B = at::ones({settings_.batch_size}, at::kFloat);
  UpdateBatch update = update_batch(trajectories, advantage_B, plan, /*group_size=*/1);
  update.packed_tokens = settings_.packed_length;
  if (drops_inputs_) update.adapters.dropout = random_.child("adapter dropout").child(std::to_string(step));
  auto gradient = policy_gradient(ranks_, model_, PretrainingLoss(), update, settings_.memory_budget, shard_);
  metrics.grad_norm = optimizer_.step(std::move(gradient.gradients));
  metrics.loss = gradient.loss;
  metrics.update_forwards_per_response = static_cast<double>(gradient.rows) / static_cast<double>(settings_.batch_size);
  metrics.update_backwards_per_response =
      static_cast<double>(gradient.backward_rows) / static_cast<double>(settings_.batch_size);
  metrics.seconds = StepSeconds{.update = update_timer.seconds(), .total = timer.seconds()};
  const std::int64_t sequence = trajectories.prompts.tokens_BP.size(1) + trajectories.tokens_BL.size(1);
  metrics.tokens_per_second = static_cast<double>(settings_.batch_size * sequence) / metrics.seconds->total;
  return metrics;
}

}  // namespace drift
