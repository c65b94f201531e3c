#include <core/cli/training_run.h>
#include <core/train/pretraining.h>

namespace drift {

int run_pretrain(const CommandLine& line) {
  return run_training(
      line, ConfigPurpose::kPretrain, [](const LoadedRun& run, const Model& model, const PromptEncoder& prompts) {
        return std::make_unique<Pretraining>(run.config, model, prompts,
                                             create_component<Task>(run.plugins->registry, run.config, "task"));
      });
}

}  // namespace drift
