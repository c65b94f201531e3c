#include <core/cli/training_run.h>
#include <core/train/pretraining.h>

namespace drift {

int run_pretrain(const CommandLine& line) {
  return run_training(line, ConfigPurpose::kPretrain,
                      [](const LoadedRun& run, const Model& model, const PromptEncoder& prompts, Loaded<Task> task) {
                        return std::make_unique<Pretraining>(run.config, model, prompts, std::move(task));
                      });
}

}  // namespace drift
