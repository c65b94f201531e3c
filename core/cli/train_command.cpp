#include <core/boundary/checked.h>
#include <core/boundary/streamed_model.h>
#include <core/cli/training_run.h>
#include <core/train/policy_training.h>
#include <core/train/pretraining.h>

namespace drift {
namespace {

/// All but the models beside the policy.
PolicyComponents make_components(const LoadedRun& run, Loaded<Task> task) {
  RunHost& host = run.host();
  const auto& config = run.config;
  return {.task = std::move(task),
          .judge = Judge(host, config),
          .rollout = create_component<Rollout>(host, config, "rollout"),
          .masking = create_component<MaskingStrategy>(host, config, "algorithm.masking"),
          .loss = create_component<LossEstimator>(host, config, "algorithm.loss"),
          .reference = std::nullopt,
          .value = nullptr};
}

/// It begins as the model that the run began with, also after a resume.
Loaded<Model> open_reference(Ranks& ranks, const ModelShapes& shapes, const ReferenceSettings& settings) {
  if (settings.kind == ReferenceKind::kOld) return {};
  return settings.offload ? open_streamed_model(shapes) : open_initial_model(ranks, shapes);
}

std::unique_ptr<Training> make_policy_training(Ranks& ranks, const LoadedRun& run, const ModelShapes& shapes,
                                               const Model& model, const PromptEncoder& prompts, Loaded<Task> task) {
  const auto& config = run.config;
  PolicyComponents components = make_components(run, std::move(task));
  const LossNeeds needs = checked_needs(*components.loss);
  if (needs.reference) {
    const auto settings = reference_settings(config);
    if (settings.kind != ReferenceKind::kOld && has_adapter(config)) {
      components.reference.emplace(settings, model);
    } else {
      components.reference.emplace(settings, open_reference(ranks, shapes, settings));
    }
  }
  if (has_value_model(config)) {
    components.value = std::make_unique<ValueModel>(ranks, ValueSettings::from(config, policy_optimizer(config)),
                                                    open_initial_model(ranks, shapes));
  }
  return std::make_unique<PolicyTraining>(ranks, run.host(), config, model, prompts, std::move(components));
}

struct TrainOptions {
  TrainingOptions training;
  bool dry_run = false;
  bool json = false;
};

int train(const TrainOptions& options) {
  if (options.json && !options.dry_run) throw UsageError("--json belongs to the plan of a run: it goes with --dry-run");
  return options.dry_run ? run_dry(options.training, options.json, make_components)
                         : run_training(options.training, ConfigPurpose::kTrain, make_policy_training, make_components);
}

int pretrain(const TrainingOptions& options) {
  return run_training(options, ConfigPurpose::kPretrain,
                      [](Ranks& ranks, const LoadedRun& run, const ModelShapes&, const Model& model,
                         const PromptEncoder& prompts, Loaded<Task> task) {
                        return std::make_unique<Pretraining>(ranks, run.config, model, prompts, std::move(task));
                      });
}

}  // namespace

Command train_command() {
  return make_command<TrainOptions>(
      {"train", "train a model with reinforcement learning",
       "Trains the model that the file names. Metrics, checkpoints and a report go into the run's folder.\n"
       "Ctrl-C finishes the step, saves a checkpoint, and prints the command that continues the run.\n"
       "--dry-run prints the plan: steps, forwards, tokens, memory, disk. Its exit status is 1 if something does\n"
       "not fit. Of processes that a launcher has started it is the plan of each.",
       "train configs/quickstart.toml --seed 2 --set train.steps=20 --out runs/seed-2"},
      train, [](OptionList& list, TrainOptions& options) {
        add_training(list, options.training, {"algorithm", "model", "adapter", "task", "seed", "dtype", "device"});
        add_short_form(list, options.training.config, "steps", "train.steps");
        list.add_switch("dry-run", "check everything except the weights, print the plan, and write nothing",
                        options.dry_run);
        list.add_switch("json", "with --dry-run: print the plan as JSON", options.json);
      });
}

Command pretrain_command() {
  return make_command<TrainingOptions>(
      {"pretrain", "train a model on a task's demonstrations",
       "Masked-diffusion likelihood training. It makes the checkpoint that `drift train` starts from.",
       "pretrain configs/pretrain/quick.toml"},
      pretrain, [](OptionList& list, TrainingOptions& options) {
        add_training(list, options, {"model", "adapter", "task", "seed", "dtype", "device"});
        add_short_form(list, options.config, "steps", "pretrain.steps");
      });
}

}  // namespace drift
