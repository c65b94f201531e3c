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
  const bool in_rows = settings.packed_length > 0 || settings.mask_prompts;
  if (in_rows && settings.noise == PretrainNoise::kLikelihood) {
    throw Error("pretrain.noise likelihood masks responses of equal length behind their prompts",
                "with mask_prompts or packed_length, use noise = \"text\": the same masks and weights");
  }
  if (in_rows && settings.noise == PretrainNoise::kSemiAutoregressive) {
    throw Error("pretrain.noise semi_ar counts blocks from a response's beginning",
                "leave out mask_prompts and packed_length, or use another noise");
  }
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

PretrainBatch responses_to_learn(const Trajectories& responses) {
  const std::int64_t rows = responses.tokens_BL.size(0), length = responses.tokens_BL.size(1);
  const auto prompt_B1 = responses.prompts.mask_BP.sum(1, /*keepdim=*/true);
  return {responses,
          {at::ones({rows, length}, at::kBool), at::arange(rows, at::kLong).unsqueeze(1).repeat({1, length}),
           prompt_B1 + at::arange(length, at::kLong)}};
}

PretrainBatch packed_rows(const std::vector<PackedText>& texts, std::int64_t packed_length, std::int64_t pad_id) {
  std::int64_t length = packed_length;
  if (packed_length == 0) {
    for (const PackedText& text : texts) length = std::max<std::int64_t>(length, std::ssize(text.ids));
  }
  std::vector<std::int64_t> used;                            // tokens of each row
  std::vector<std::pair<std::int64_t, std::int64_t>> begin;  // of each text, its row and the place there
  for (const PackedText& text : texts) {
    const std::int64_t size = std::ssize(text.ids);
    std::size_t row = packed_length == 0 ? used.size() : 0;
    while (row < used.size() && used[row] + size > length) ++row;
    if (row == used.size()) used.push_back(0);
    begin.emplace_back(static_cast<std::int64_t>(row), used[row]);
    used[row] += size;
  }
  const std::int64_t rows = std::ssize(used);
  PretrainBatch batch;
  auto& [label_BL, text_BL, place_BL] = batch.texts;
  label_BL = at::zeros({rows, length}, at::kBool);
  text_BL = at::full({rows, length}, -1, at::kLong);
  place_BL = at::zeros({rows, length}, at::kLong);
  Trajectories& packed = batch.trajectories;
  packed.tokens_BL = at::full({rows, length}, pad_id, at::kLong);
  for (std::size_t t = 0; t < texts.size(); ++t) {
    const std::int64_t size = std::ssize(texts[t].ids), learned = texts[t].learned_from;
    const auto place = at::arange(size, at::kLong);
    const auto own = [&](at::Tensor& of) { return of.select(0, begin[t].first).narrow(0, begin[t].second, size); };
    own(packed.tokens_BL).copy_(index_tensor(texts[t].ids));
    own(text_BL).fill_(static_cast<std::int64_t>(t));
    own(place_BL).copy_(place);
    own(label_BL).copy_(place >= learned);
  }
  packed.prompts = {at::zeros({rows, 0}, at::kLong), at::ones({rows, 0}, at::kBool), at::arange(rows, at::kLong)};
  packed.valid_BL = text_BL >= 0;
  packed.step_BL = at::zeros({rows, length}, at::kInt);
  packed.text_BL = text_BL;
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

std::vector<TaskItem> Pretraining::items(std::int64_t step) const {
  return draw_items(*task_, (step - 1) * settings_.batch_size, settings_.batch_size, random_.child("task"));
}

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

Trajectories Pretraining::demonstrations(std::int64_t step) const {
  const auto items = this->items(step);
  Trajectories batch;
  batch.prompts = prompts_.encode(items, 1, settings_.response_length);
  batch.tokens_BL = at::full({settings_.batch_size, settings_.response_length}, model_.traits().pad_id, at::kLong);
  for (std::int64_t b = 0; b < settings_.batch_size; ++b) {
    const auto ids = response_ids(items[static_cast<std::size_t>(b)]);
    std::copy(ids.begin(), ids.end(), batch.tokens_BL.data_ptr<std::int64_t>() + b * settings_.response_length);
  }
  batch.valid_BL = at::ones({settings_.batch_size, settings_.response_length}, at::kBool);
  batch.step_BL = at::zeros({settings_.batch_size, settings_.response_length}, at::kInt);
  return batch;
}

std::vector<PackedText> Pretraining::texts(std::int64_t step) const {
  std::vector<PackedText> texts;
  for (const TaskItem& item : items(step)) {
    PackedText text{prompts_.ids(item), 0};
    if (!settings_.mask_prompts) text.learned_from = std::ssize(text.ids);
    const auto response = response_ids(item);
    text.ids.insert(text.ids.end(), response.begin(), response.end());
    const std::int64_t most = settings_.packed_length > 0 ? settings_.packed_length : model_.traits().context_length;
    if (std::ssize(text.ids) > std::min(most, model_.traits().context_length)) {
      throw Error("prompt and demonstration of item `" + item.id + "` have " + std::to_string(text.ids.size()) +
                      " tokens; pretrain.packed_length is " + std::to_string(settings_.packed_length) +
                      ", the model's context " + std::to_string(model_.traits().context_length),
                  "raise pretrain.packed_length, or leave long items out");
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

PretrainBatch Pretraining::batch(std::int64_t step) const {
  if (settings_.packed_length == 0 && !settings_.mask_prompts) return responses_to_learn(demonstrations(step));
  return packed_rows(texts(step), settings_.packed_length, model_.traits().pad_id);
}

StepRecord Pretraining::run(std::int64_t step) {
  const PhaseTimer timer;
  StepRecord metrics;
  metrics.step = step;
  metrics.learning_rate = optimizer_.learning_rate();
  const auto [trajectories, texts] = batch(step);
  const std::int64_t rows = trajectories.tokens_BL.size(0);
  const auto plan = settings_.noise == PretrainNoise::kLikelihood
                        ? masks_.draw(random_, step, rows)
                        : noise_.plan(texts, noise_.draw(texts, random_, step));
  const PhaseTimer update_timer;
  const auto advantage_B = at::ones({rows}, at::kFloat);
  UpdateBatch update = update_batch(trajectories, advantage_B, plan, /*group_size=*/1);
  if (drops_inputs_) update.adapters.dropout = random_.child("adapter dropout").child(std::to_string(step));
  auto gradient = policy_gradient(ranks_, model_, PretrainingLoss(), update, settings_.memory_budget, shard_);
  metrics.grad_norm = optimizer_.step(std::move(gradient.gradients));
  metrics.loss = gradient.loss;
  metrics.update_forwards_per_response = static_cast<double>(gradient.rows) / static_cast<double>(settings_.batch_size);
  metrics.update_backwards_per_response =
      static_cast<double>(gradient.backward_rows) / static_cast<double>(settings_.batch_size);
  metrics.seconds = StepSeconds{.update = update_timer.seconds(), .total = timer.seconds()};
  const std::int64_t sequence = trajectories.prompts.tokens_BP.size(1) + trajectories.tokens_BL.size(1);
  metrics.tokens_per_second = static_cast<double>(rows * sequence) / metrics.seconds->total;
  return metrics;
}

}  // namespace drift
