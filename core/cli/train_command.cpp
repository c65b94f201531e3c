#include <core/cli/dry_run.h>
#include <core/cli/training_run.h>
#include <core/train/policy_training.h>

namespace drift {
namespace {

/// All but the reference policy.
PolicyComponents make_components(const LoadedRun& run, Loaded<Task> task) {
  const auto& registry = run.plugins->registry;
  const auto& config = run.config;
  return {.task = std::move(task),
          .judge = Judge(registry, config),
          .rollout = create_component<Rollout>(registry, config, "rollout"),
          .masking = create_component<MaskingStrategy>(registry, config, "algorithm.masking"),
          .loss = create_component<LossEstimator>(registry, config, "algorithm.loss"),
          .reference = std::nullopt};
}

std::unique_ptr<Training> make_policy_training(const LoadedRun& run, const Model& model, const PromptEncoder& prompts,
                                               Loaded<Task> task) {
  const auto& registry = run.plugins->registry;
  const auto& config = run.config;
  PolicyComponents components = make_components(run, std::move(task));
  LossNeeds needs;
  components.loss->needs(needs);
  if (needs.reference) {
    const auto settings = ReferenceSettings::from(config.section("reference"));
    // It begins as the model that the run began with, also after a resume.
    components.reference.emplace(
        settings, settings.kind == ReferenceKind::kOld ? Loaded<Model>() : open_initial_model(registry, config));
  }
  return std::make_unique<PolicyTraining>(config, model, prompts, std::move(components));
}

}  // namespace

int run_train(const CommandLine& line) {
  return line.dry_run ? run_dry(line, make_components)
                      : run_training(line, ConfigPurpose::kTrain, make_policy_training);
}

}  // namespace drift
