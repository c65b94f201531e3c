// How long a rollout of the quickstart takes: 16 prompts x 8 responses, prompt 21, length 20, block 5, threshold 0.9,
// temperature 1.
//
//   build/release/bench/rollout_bench [--rounds 31] [--set run.threads=1] [--set model.path=DIR] [--config FILE]
//
// The first round does not count. The figures are a median and quartiles.

#include "bench/measure.h"
#include "bench/recipe.h"

#include <core/base/phase_timer.h>
#include <core/boundary/model_policy.h>

#include <drift/export.h>
#include <drift/rollout.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <vector>

namespace drift::bench {
namespace {

void print(const char* name, const std::vector<double>& seconds) {
  const Spread of = spread(seconds);
  std::printf("%-16s %9.2f ms  (%.2f to %.2f)\n", name, 1e3 * of.median, 1e3 * of.low, 1e3 * of.high);
}

void run(int count, char** arguments) {
  const Recipe recipe(count, arguments);
  const at::NoGradGuard no_gradient;
  const auto rollout = create_component<Rollout>(recipe.host(), recipe.config(), "rollout");
  const RolloutInput input = recipe.rollout_input();
  Trajectories trajectories;
  std::vector<double> wall, processor;
  for (int round = -1; round < recipe.rounds(); ++round) {
    const PhaseTimer timer;
    const double before = processor_seconds();
    rollout->generate(input, trajectories);
    if (round < 0) continue;
    wall.push_back(timer.seconds());
    processor.push_back(processor_seconds() - before);
  }
  recipe.print_heading();
  std::printf("%lld responses of %lld + %lld tokens; %.2f forwards per response\n",
              static_cast<long long>(trajectories.tokens_BL.size(0)),
              static_cast<long long>(input.prompts.tokens_BP.size(1)),
              static_cast<long long>(rollout->response_length()),
              trajectories.forwards_B.to(at::kDouble).mean().item<double>());
  print("rollout", wall);
  print("processor time", processor);
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
