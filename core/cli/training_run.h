#pragma once

#include <core/cli/load_run.h>
#include <core/components/components.h>
#include <core/rollout/prompt_encoder.h>
#include <core/train/loop.h>
#include <core/train/training.h>

#include <functional>
#include <memory>

namespace drift {

/// Makes what trains the model: the one thing in which `train` and `pretrain` differ.
using MakeTraining = std::function<std::unique_ptr<Training>(const LoadedRun& run, const Model& model,
                                                             const PromptEncoder& prompts, Loaded<Task> task)>;

/// A whole training run in its folder: begin or go on, train, evaluate, save, report.
/// @return the exit status: 0, or 128 + the signal that stopped it
int run_training(const CommandLine& line, ConfigPurpose purpose, const MakeTraining& make_training);

}  // namespace drift
