// Components that write down which random streams the program gives them, and a reward that differs between any two
// texts. Each call appends a line to the file that DRIFT_RECORD names, where it is set.

#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace drift;

void record(const std::string& line) {
  const char* path = std::getenv("DRIFT_RECORD");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "a");
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

/// A stream's value at a point that says nothing.
void record(const char* who, const RandomStream& random) {
  char line[64];
  std::snprintf(line, sizeof line, "%s %016" PRIx64, who, random.bits({}));
  record(line);
}

class RecorderTask final : public Task {
 public:
  explicit RecorderTask(const Parameters&) {}
  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override {
    if (index == 0) record("task", random);
    item.id = std::to_string(index);
    item.prompt = "12";
    item.demonstration = "3412";
  }
  std::int64_t held_out_size() const override { return 1; }
  void held_out_item(std::int64_t, TaskItem& item) const override {
    item.id = "held out";
    item.prompt = "34";
  }
};

/// Four tokens each, of the smallest ids after the special ones.
class RecorderRollout final : public Rollout {
 public:
  explicit RecorderRollout(const Parameters&) {}
  std::int64_t response_length() const override { return 4; }
  void generate(const RolloutInput& input, Trajectories& made) const override {
    record("rollout", input.random);
    const std::int64_t responses = input.prompts.tokens_BP.size(0);
    made.prompts = input.prompts;
    made.tokens_BL = at::empty({responses, 4}, at::kLong);
    for (std::int64_t b = 0; b < responses; ++b) {
      for (std::int64_t i = 0; i < 4; ++i) made.tokens_BL[b][i] = 6 + input.random.below(8, {input.step, b, i, 0});
    }
    made.valid_BL = at::ones({responses, 4}, at::kBool);
    made.step_BL = at::zeros({responses, 4}, at::kInt);
    made.commit_logprob_BL = at::full({responses, 4}, -1, at::kFloat);
    made.forwards_B = at::ones({responses}, at::kLong);
  }
};

/// Everything masked and scored. Also records which responses the filter kept.
class RecorderMasking final : public MaskingStrategy {
 public:
  explicit RecorderMasking(const Parameters&) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    record("masking", input.random);
    const Responses responses(input);
    PlanBuilder builder(responses.length(), responses.prompt_length());
    std::string kept = "responses";
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      kept += " " + std::to_string(responses[b].number);
      builder.begin_view(b, 0);
      for (std::int64_t i = 0; i < responses.length(); ++i) {
        builder.mask(i);
        builder.score(i);
      }
    }
    record(kept);
    plan = builder.finish(1);
  }
};

/// A polynomial of the response's bytes, modulo a prime: hardly ever the same for two texts.
class AnyText final : public Reward {
 public:
  explicit AnyText(const Parameters&) {}
  void score(const RewardRequest& request, RewardResult& result) const override {
    int sum = 0;
    for (const char byte : request.response) sum = (sum * 31 + static_cast<unsigned char>(byte)) % 997;
    result = {};
    result.value = sum / 997.0;
    result.reason = "of its bytes";
  }
};

}  // namespace

DRIFT_PLUGIN("recorder", "1.0.0", "Apache-2.0") {
  registry.add<RecorderTask>("recorder", "Two digits, to be followed by four.");
  registry.add<RecorderRollout>("recorder", "Four random tokens without a model.");
  registry.add<RecorderMasking>("recorder", "Everything masked.");
  registry.add<AnyText>("any_text", "Differs between any two texts.");
}
