#pragma once

#include <core/boundary/components.h>
#include <core/cli/load_run.h>
#include <core/ranks/ranks.h>
#include <core/ranks/shard.h>
#include <core/rollout/prompt_encoder.h>
#include <core/train/loop.h>
#include <core/train/policy_training.h>
#include <core/train/training.h>

#include <functional>
#include <memory>

namespace drift {

/// What `train` and `pretrain` have in common.
struct TrainingOptions {
  ConfigOptions config;
  std::filesystem::path out;
  bool resume = false;
  bool overwrite = false;
};

void add_training(OptionList& list, TrainingOptions& options, const std::vector<std::string>& short_forms);

/// @throws Error if several ranks cannot divide the run so
void check_shard(const Ranks& ranks, const RunConfig& config, Shard shard);

/// Makes what trains the model: the one thing in which `train` and `pretrain` differ.
using MakeTraining =
    std::function<std::unique_ptr<Training>(Ranks& ranks, const LoadedRun& run, const ModelShapes& shapes,
                                            const Model& model, const PromptEncoder& prompts, Loaded<Task> task)>;

using MakeComponents = PolicyComponents (*)(const LoadedRun& run, Loaded<Task> task);

/// A whole training run in its folder: begin or continue, train, evaluate, save, report.
/// @param make_components  to plan its memory before the weights are read; null: it is not planned
/// @return the exit status: 0, or 128 + the signal that stopped it
int run_training(const TrainingOptions& options, ConfigPurpose purpose, const MakeTraining& make_training,
                 MakeComponents make_components = nullptr);

/// `drift train --dry-run`: check everything but the weights' bytes, print the plan, write nothing. Of processes that a
/// launcher has started, the first one prints the plan of each.
/// @return 0, or 1 if something would not fit.
int run_dry(const TrainingOptions& options, bool json, const MakeComponents& make_components);

}  // namespace drift
