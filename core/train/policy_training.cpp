#include <core/train/policy_training.h>

#include <core/base/trainable.h>
#include <core/boundary/divided_weights.h>

namespace drift {
namespace {

/// The first rank alone has a folder.
ReportSettings report_settings(const Ranks& ranks, const RunConfig& config) {
  return ranks.is_first() ? config.get<ReportSettings>() : ReportSettings();
}

PolicyUpdateSettings update_settings(const Ranks& ranks, const RunConfig& config) {
  const auto section = config.get<TrainSettings>();
  PolicyUpdateSettings settings;
  settings.group_size = section.group_size;
  settings.inner_iterations = section.inner_iterations;
  settings.views_per_update = section.views_per_update;
  settings.memory_budget = section.memory_budget;
  settings.shard = shard_of(config);
  settings.keep_logprobs = report_settings(ranks, config).tensorboard;
  if (drops_inputs(config)) settings.dropout = run_stream(config).child("adapter dropout");
  return settings;
}

}  // namespace

RandomStream run_stream(const RunConfig& config) { return RandomStream(config.get<RunSettings>().seed, "train"); }

OptimizerSettings policy_optimizer(const RunConfig& config) {
  const auto train = config.get<TrainSettings>();
  return {train.adamw, train.steps * train.inner_iterations, config.get<RunSettings>().seed,
          shard_of(config) != Shard::kNone};
}

PolicyTraining::PolicyTraining(Ranks& ranks, RunHost& host, const RunConfig& config, const Model& model,
                               const PromptEncoder& prompts, PolicyComponents components)
    : ranks_(ranks),
      host_(host),
      model_(model),
      prompts_(prompts),
      components_(std::move(components)),
      optimizer_(ranks, trainable_parameters(model), policy_optimizer(config), weight_shares(model)),
      policy_update_(ranks, model, components_.loss, components_.reference ? &*components_.reference : nullptr,
                     optimizer_, update_settings(ranks, config)),
      random_(run_stream(config)),
      train_(config.get<TrainSettings>()),
      algorithm_(config.get<AlgorithmSettings>()),
      advantage_(config.get<AdvantageSettings>()),
      filter_(config.get<GroupFilterSettings>()),
      score_(config.get<RewardSettings>()),
      report_(report_settings(ranks, config)),
      inspect_(InspectionSettings::from(config)) {}

std::vector<NamedTensor> PolicyTraining::state() const {
  auto state = optimizer_.state();
  if (components_.reference) {
    for (NamedTensor& tensor : components_.reference->state()) state.push_back(std::move(tensor));
  }
  if (components_.value) {
    for (NamedTensor& tensor : components_.value->state()) state.push_back(std::move(tensor));
  }
  return state;
}

std::vector<TensorPart> PolicyTraining::state_parts() const {
  auto parts = optimizer_.state_parts();
  if (components_.reference) {
    for (TensorPart& part : components_.reference->state_parts()) parts.push_back(std::move(part));
  }
  return parts;
}

void PolicyTraining::load_state(const std::vector<NamedTensor>& state) {
  optimizer_.load_state(state);
  if (components_.reference) components_.reference->load_state(state);
  if (components_.value) components_.value->load_state(state);
}

}  // namespace drift
