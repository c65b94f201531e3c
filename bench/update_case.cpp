#include "bench/update_case.h"

#include "bench/measure.h"

#include <core/base/component_host.h>
#include <core/config/run_config.h>
#include <core/io/checkpoint.h>
#include <core/update/reference_policy.h>
#include <core/update/update_batch.h>

#include <drift/masking_strategy.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <stdexcept>

namespace drift::bench {
namespace {

constexpr std::int64_t kResponses = 4, kPrompt = 128, kLength = 256, kBlock = 32;

std::string config_json(const UpdateShape& shape) {
  auto json = nlohmann::json::parse(read_config_json(source_file("assets/sudoku-llada")));
  json["d_model"] = shape.hidden;
  json["n_layers"] = shape.layers;
  json["n_heads"] = json["n_kv_heads"] = shape.heads;
  json["mlp_hidden_size"] = shape.inner;
  json["vocab_size"] = json["embedding_size"] = shape.vocabulary;
  json["max_sequence_length"] = kPrompt + kLength;
  return json.dump();
}

/// Responses as block-wise decoding with a threshold leaves them: blocks in order, in each the tokens in random order,
/// one to 24 at a step, about eight on the average. Two of them end before their last block does.
Trajectories made_up_trajectories(const ModelTraits& traits) {
  const RandomStream random(7, "update bench");
  Trajectories made;
  made.prompts.tokens_BP = at::zeros({kResponses, kPrompt}, at::kLong);
  made.prompts.mask_BP = at::ones({kResponses, kPrompt}, at::kBool);
  made.prompts.group_B = at::zeros({kResponses}, at::kLong);
  made.tokens_BL = at::zeros({kResponses, kLength}, at::kLong);
  made.step_BL = at::zeros({kResponses, kLength}, at::kInt);
  made.commit_logprob_BL = at::zeros({kResponses, kLength}, at::kFloat);
  made.forwards_B = at::zeros({kResponses}, at::kLong);
  auto* tokens = made.tokens_BL.data_ptr<std::int64_t>();
  auto* steps = made.step_BL.data_ptr<std::int32_t>();
  const auto any_token = [&](RandomPoint point) { return 2 + random.below(traits.vocabulary_size - 2, point); };
  for (std::int64_t b = 0; b < kResponses; ++b) {
    for (std::int64_t p = 0; p < kPrompt; ++p) made.prompts.tokens_BP[b][p] = any_token({0, 0, p, 0});
    const std::int64_t end = kLength - 20 * (b % 2);
    std::int32_t step = 0;
    for (std::int64_t block = 0; block < kLength; block += kBlock) {
      std::vector<std::int64_t> order(kBlock);
      for (std::int64_t i = 0; i < kBlock; ++i) order[static_cast<std::size_t>(i)] = block + i;
      for (std::int64_t i = kBlock - 1; i > 0; --i)
        std::swap(order[static_cast<std::size_t>(i)],
                  order[static_cast<std::size_t>(random.below(i + 1, {1, b, block + i, 0}))]);
      for (std::int64_t done = 0; done < kBlock; ++step) {
        const double share = random.uniform({2, b, step, 0});
        const std::int64_t count =
            std::min<std::int64_t>(kBlock - done, 1 + static_cast<std::int64_t>(24 * share * share));
        for (std::int64_t i = 0; i < count; ++i, ++done) {
          const std::int64_t place = order[static_cast<std::size_t>(done)];
          tokens[b * kLength + place] = place < end ? any_token({3, b, place, 0}) : traits.pad_id;
          steps[b * kLength + place] = step;
          made.commit_logprob_BL[b][place] = std::log(0.3 + 0.7 * random.uniform({4, b, place, 0}));
        }
      }
    }
    made.forwards_B[b] = step;
  }
  made.valid_BL = made.tokens_BL != traits.pad_id;
  return made;
}

}  // namespace

UpdateShape update_shape(const std::string& name) {
  if (name == "head_heavy") return {name, 512, 6, 8, 1536, 126464};
  if (name == "balanced") return {name, 1024, 4, 16, 3072, 4096};
  if (!std::filesystem::is_directory(name))
    throw std::invalid_argument("there is no shape `" + name + "`: head_heavy, balanced, or a checkpoint's folder");
  const auto json = nlohmann::json::parse(read_config_json(name));
  return {name,
          json["d_model"],
          json["n_layers"],
          json["n_heads"],
          json["mlp_hidden_size"],
          json["embedding_size"],
          json["rope_theta"],
          /*is_folder=*/true};
}

// Four masks per response if the number is free, as in the release of the first.
const std::vector<UpdateAlgorithm>& update_algorithms() {
  static const std::vector<UpdateAlgorithm> all{
      {"rldf", GraphLife::kForward, {"algorithm.masking.k=4", "algorithm.loss.norm=sample"}},
      {"d1", GraphLife::kForward, {}},
      {"espo", GraphLife::kTogether, {}},
      {"coupled_grpo", GraphLife::kTogether, {}},
      {"tracerl", GraphLife::kTwoRows, {}}};
  return all;
}

UpdateCases::UpdateCases(const UpdateShape& shape, at::ScalarType type, at::Device device,
                         std::vector<std::string> overrides)
    : shape_(shape), overrides_(std::move(overrides)) {
  for (const SearchPath& folder : plugin_search_paths({}, std::filesystem::read_symlink("/proc/self/exe")))
    loader_.load_folder(folder);
  if (shape.is_folder) {
    const auto settings =
        config({std::string("run.device=") + (device.is_cpu() ? "cpu" : "cuda"), "model.path=" + shape.name,
                std::string("model.dtype=") + (type == at::kFloat ? "float32" : "bfloat16")});
    Ranks alone;
    model_ = open_initial_model(alone, {host_, settings, WhichAdapters::kAll});
    const auto adapter = settings.get<AdapterSettings>();
    if (adapter.lora) adapter_scale_ = adapter.alpha / static_cast<double>(adapter.rank);
  } else {
    const ModelConfig drawn{config_json(shape), type, device};
    model_ = create_component<Model>(host_, config({}), "model", &drawn);
    const at::NoGradGuard no_gradient;
    (*model_).initialize(RandomStream(1, "update bench"));
  }
  trajectories_ = made_up_trajectories(model_->traits());
}

RunConfig UpdateCases::config(std::vector<std::string> assignments) const {
  assignments.insert(assignments.end(), overrides_.begin(), overrides_.end());
  std::vector<ConfigOverride> list;
  for (const std::string& one : assignments) list.push_back(ConfigOverride::from_set(one));
  return resolve_config(load_document(source_file("bench/update_bench.toml"), list), registry_, ConfigPurpose::kTrain);
}

std::unique_ptr<Rollout> UpdateCases::rollout(const std::string& name,
                                              const std::map<std::string, Parameter::Value>& settings) const {
  const ComponentEntry* entry = registry_.find(ComponentKind::kRollout, name);
  if (entry == nullptr) throw std::runtime_error("the plugin " + name + " is not built");
  auto made = host_.make(*entry, Parameters(entry->params, settings), nullptr);
  return std::unique_ptr<Rollout>(dynamic_cast<Rollout*>(made.release()));
}

std::unique_ptr<UpdateCases::Case> UpdateCases::make(const UpdateAlgorithm& algorithm) const {
  std::vector<std::string> assignments{"algorithm.name=" + algorithm.name};
  assignments.insert(assignments.end(), algorithm.settings.begin(), algorithm.settings.end());
  const auto config = this->config(assignments);
  auto one = std::make_unique<Case>();
  one->graphs = algorithm.graphs;
  one->loss = create_component<LossEstimator>(host_, config, "algorithm.loss");
  one->loss->needs(one->needs);
  const auto masking = create_component<MaskingStrategy>(host_, config, "algorithm.masking");
  MaskingInput input;
  input.trajectories = &trajectories_;
  input.random = RandomStream(1, "masking");
  input.response_number_B = at::arange(kResponses, at::kLong);
  masking->plan(input, one->plan);

  const auto advantage_B = at::tensor({1.5f, -0.5f, 0.25f, -1.25f});
  one->batch = update_batch(trajectories_, advantage_B, one->plan, /*group_size=*/kResponses);
  one->batch.totals.optimizer_steps = config.get<TrainSettings>().inner_iterations;
  one->batch.reference_is_old_policy = one->needs.reference && reference_settings(config).kind == ReferenceKind::kOld;
  one->reference_forwards = one->needs.reference && !one->batch.reference_is_old_policy;
  return one;
}

UpdateCases::Operations UpdateCases::needed_operations(const Case& one, std::int64_t targets_with_gradient) const {
  constexpr double kSequence = kPrompt + kLength;
  const auto hidden = static_cast<double>(shape_.hidden), inner = static_cast<double>(shape_.inner);
  const double weights = static_cast<double>(shape_.layers) * (4 * hidden * hidden + 3 * hidden * inner);
  const double attention = static_cast<double>(shape_.layers) * 2 * kSequence * hidden;
  const double row = 2 * kSequence * (weights + attention);
  const double head = 2 * hidden * static_cast<double>(shape_.vocabulary);
  // Of a frozen weight only the gradient of what it is multiplied with is needed.
  const double backward = adapter_scale_ > 0 ? 1 : 2;
  const double forward = one.reference_forwards ? 2 : 1;

  const ViewRows rows(Ranks(), model_->traits(), trajectories_, one.plan, all_views(one.plan));
  double positions = 0;
  for (const std::vector<RowTarget>& targets : rows.targets()) {
    std::set<std::int64_t> distinct;
    for (const RowTarget& target : targets) distinct.insert(target.position);
    positions += static_cast<double>(distinct.size());
  }
  return {
      (forward + backward) *
          (static_cast<double>(one.plan.response_F.size(0)) * row + one.plan.target_FL.sum().item<double>() * head),
      (forward + backward) * static_cast<double>(rows.count()) * row +
          (forward * positions + backward * std::min(positions, static_cast<double>(targets_with_gradient))) * head};
}

}  // namespace drift::bench
