// What the plugin `d1` registers: the algorithm and its options. The settings of the release are the files in presets/.

#include "d1.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::d1;

ParamSpecs masking_params() {
  return {
      {"p_mask_prompt", 0.15, "probability that a prompt token is masked; 0 shows the whole prompt", between(0, 1)},
      {"random_masking", true, "draw new masks for every optimizer step; false: the same ones in the whole run"},
      {"mask_post_eos_keys", false, "no position attends to what follows the end token, as the port in dllm has it"},
      {"end_id", -1, "token that ends the valid part of a response, itself valid; -1 = the model's end token",
       at_least(-1)},
  };
}

ParamSpecs loss_params() {
  return joined({RatioClip::params(0.5, 0.5), KlTerm::params(0.04, "k3"), LossNorm::params("token")});
}

Bundle bundle() {
  return {
      .name = "d1",
      .doc = "diffu-GRPO: all tokens scored at once from a fully masked response and a randomly masked prompt.",
      .paper = "d1: Scaling Reasoning in Diffusion Large Language Models via Reinforcement Learning",
      .masking = "d1",
      .loss = "d1",
      .presets = plugin_presets("train"),
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("d1", "1.0.0", "Apache-2.0") {
  registry.add<PromptMasking>("d1", "One view: the whole response masked, each prompt token with a probability.",
                              masking_params());
  registry.add<TokenLoss>("d1", "Clipped ratio of every valid token, plus KL.", loss_params());
  registry.add_bundle(bundle());
}
