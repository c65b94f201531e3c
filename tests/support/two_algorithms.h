#pragma once

// Components without code, and runs that choose among them, for tests of how a configuration is resolved.

#include "tests/support/support.h"

#include <core/config/run_config.h>

#include <tests/support/config_folder.h>

namespace drift::test {

/// A preset as a plugin carries it; `settings` begin in the second line of its file.
inline AlgorithmPreset preset(const std::string& name, const std::string& settings) {
  return {name, "presets/" + name + ".toml", "description = \"of the test\"\n" + settings};
}

/// Two algorithms that can run, one that lacks a part, two tasks.
inline Registry two_algorithms() {
  Registry registry;
  add(registry, ComponentKind::kModel, "toy", {{"layers", 2, "number of layers", at_least(1)}});
  add(registry, ComponentKind::kModel, "other_toy");
  add(registry, ComponentKind::kTask, "sums", {{"digits", 3, "digits of a number", between(1, 9)}});
  add(registry, ComponentKind::kTask, "words",
      {path("word_file", "", "one word a line"), paths("more_files", "further ones")});
  add(registry, ComponentKind::kReward, "sums", {{"strict", false, "refuse spaces"}});
  add(registry, ComponentKind::kReward, "words");
  add(registry, ComponentKind::kRollout, "blocks",
      {{"length", 20, "response positions", at_least(1)},
       {"temperature", 1.0, "of sampling, 0 = greedy", at_least(0)},
       {"threshold", 0.9, "confidence from which on a token is committed", between(0, 1)}});
  add(registry, ComponentKind::kRollout, "tall_blocks", {{"height", 1, "of a block", at_least(1)}});
  add(registry, ComponentKind::kMaskingStrategy, "steps",
      {{"mask_num", 16, "steps per response", at_least(1)},
       {"tau", 1.0, "of the selection", or_infinite(at_least(0))}});
  add(registry, ComponentKind::kMaskingStrategy, "everything",
      {{"p_prompt", 0.15, "of a prompt token", between(0, 1)}});
  add(registry, ComponentKind::kLossEstimator, "steps",
      {{"beta", 0.0, "weight of the KL", at_least(0)},
       {"norm", "sample", "what divides the sum", one_of({"sample", "token"})}});
  add(registry, ComponentKind::kLossEstimator, "smooth", {{"beta", 2.0, "curvature", at_least(0)}});
  add_algorithm(registry, "steps", "steps", "steps",
                {preset("paper",
                        "advantage.std = \"population\"\nalgorithm.loss.beta = 0.01\n"
                        "optional.rollout.width = 2\n"),
                 preset("release", "algorithm.masking.mask_num = 4\n"),
                 preset("misspelt", "extends = \"release\"\n[train]\nstpes = 4\n")});
  add_algorithm(registry, "everything", "everything", "smooth",
                {preset("paper", "train.inner_iterations = 12\nrollout.height = 2\n")});
  add_algorithm(registry, "borrowed", "of_another_plugin", "smooth",
                {preset("paper", "algorithm.masking.p_prompt = 0.3\n")});
  return registry;
}

/// A folder with a complete base.toml; tests add to it.
class Config : public ConfigFolder {
 protected:
  Config() { write_run("base.toml", "steps"); }

  RunConfig resolve(const std::filesystem::path& file, const std::vector<std::string>& sets = {},
                    ConfigPurpose purpose = ConfigPurpose::kTrain) const {
    return resolve_config(load_document(file, overrides_of(sets)), registry_, purpose);
  }

  /// run.toml = base.toml with `content` over it.
  RunConfig resolve_text(const std::string& content, const std::vector<std::string>& sets = {}) const {
    return resolve(run_over_base(content), sets);
  }

  std::string mistakes(const std::string& content, const std::vector<std::string>& sets = {},
                       ConfigPurpose purpose = ConfigPurpose::kTrain) const {
    return mistakes_of(run_over_base(content), sets, purpose);
  }

  std::string mistakes_of(const std::filesystem::path& file, const std::vector<std::string>& sets = {},
                          ConfigPurpose purpose = ConfigPurpose::kTrain) const {
    return mistakes_in([&] { resolve(file, sets, purpose); });
  }

  std::filesystem::path run_over_base(const std::string& content) const {
    return write("run.toml", "extends = [\"base.toml\"]\n" + content);
  }

  Registry registry_ = two_algorithms();
};

}  // namespace drift::test
