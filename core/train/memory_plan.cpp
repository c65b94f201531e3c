#include <core/train/memory_plan.h>

#include <core/base/memory.h>
#include <core/components/streamed_model.h>
#include <core/update/policy_scores.h>

#include <ATen/OpMathType.h>

#include <algorithm>

namespace drift {
namespace {

// What a run's program takes beyond a dry run's: the threads' stacks, the products' workspaces, compiled kernels, code
// that is first used in a step. Estimates.
constexpr std::int64_t kProgramLater = 110 << 20;
constexpr std::int64_t kNarrowProgramLater = 150 << 20;  // oneDNN's products of bfloat16
// LibTorch on a device: context, library handles and their workspaces.
constexpr std::int64_t kDeviceProgram = std::int64_t{700} << 20;
constexpr std::int64_t kOffloadBuffers = std::int64_t{2} << 23;  // elements, core/update/optimizer.cpp

bool is_on_cpu(const RunConfig& config) { return config.section("run").get<std::string>("device") == "cpu"; }

std::int64_t bytes_of(const at::Tensor& tensor) { return static_cast<std::int64_t>(tensor.nbytes()); }

/// Sums over the parameters that are trained.
struct Trained {
  explicit Trained(const Model& shapes) {
    for (const NamedTensor& parameter : shapes.parameters()) {
      if (!parameter.tensor.requires_grad()) continue;
      const std::int64_t count = parameter.tensor.numel();
      const auto wide = static_cast<std::int64_t>(c10::elementSize(at::toOpMathType(parameter.tensor.scalar_type())));
      elements += count;
      wide_bytes += count * wide;
      if (wide > parameter.tensor.element_size()) masters += count * wide;
      largest = std::max(largest, count * (wide + static_cast<std::int64_t>(parameter.tensor.element_size())));
    }
  }

  std::int64_t elements = 0;
  std::int64_t wide_bytes = 0;  ///< as float32
  std::int64_t masters = 0;     ///< of those of a narrower type
  std::int64_t largest = 0;     ///< one parameter's gradient, in its own type and as float32
};

class MemoryPlanner {
 public:
  MemoryPlanner(const RunConfig& config, const Model& shapes)
      : config_(config), shapes_(shapes), on_cpu_(is_on_cpu(config)), trained_(shapes) {}

  MemoryPlan plan(const MemoryWork& work) {
    weights();
    if (work.needs.reference) reference();
    optimizer();
    program();
    phases(work);
    return std::move(plan_);
  }

  std::int64_t least(const LossNeeds& needs) {
    weights();
    if (needs.reference) reference();
    optimizer();
    return plan_.device.bytes() + trained_.wide_bytes;
  }

 private:
  /// In host memory: the device's own where that is the CPU.
  MemoryOfPlace& host() { return on_cpu_ ? plan_.device : plan_.host; }

  static void add(std::vector<MemoryPart>& parts, const char* name, std::int64_t bytes, const std::string& note) {
    parts.push_back({name, bytes, note});
  }

  void weights() {
    const std::string type = config_.section("model").get<std::string>("dtype");
    const std::int64_t bytes = weight_bytes(shapes_);
    const auto* adapters = capability<Adapters>(shapes_);
    std::int64_t of_adapters = 0;
    if (adapters != nullptr) {
      for (const NamedTensor& one : adapters->adapter_parameters()) of_adapters += bytes_of(one.tensor);
    }
    add(plan_.device.always, "weights", bytes - of_adapters, type);
    if (of_adapters > 0) add(plan_.device.always, "adapters", of_adapters, type);
  }

  /// With adapters the frozen weights are the reference policy.
  void reference() {
    const auto& section = config_.section("reference");
    const auto policy = section.get<std::string>("policy");
    if (policy == "old" || has_adapter(config_)) return;
    const std::int64_t bytes = weight_bytes(shapes_);
    if (!section.get<bool>("offload")) {
      add(plan_.device.always, "reference policy", bytes, "[reference] policy");
      return;
    }
    require_streamable(config_, shapes_);
    const StreamedBytes streamed = streamed_bytes(shapes_, on_cpu_);
    add(plan_.device.always, "reference policy", bytes - streamed.blocks + streamed.held,
        std::string("[reference] offload: embedding, head and ") + (on_cpu_ ? "one block" : "two blocks"));
    if (streamed.buffers > 0) add(host().always, "reference policy", streamed.buffers, "two blocks on their way");
  }

  void optimizer() {
    const auto& train = config_.section("train");
    const bool away = !on_cpu_ && train.get<std::string>("offload") == "optimizer";
    const bool narrow = train.get<std::string>("moments") == "bfloat16";
    MemoryOfPlace& place = away ? plan_.host : plan_.device;
    const std::int64_t masters = away ? trained_.wide_bytes : trained_.masters;
    if (masters > 0) add(place.always, "master weights", masters, "float32");
    add(place.always, "AdamW's moments", narrow ? 4 * trained_.elements : 2 * trained_.wide_bytes,
        narrow ? "bfloat16, two" : "float32, two");
    if (away) {
      const std::int64_t element = static_cast<std::int64_t>(shapes_.lm_head_VH().element_size());
      add(place.always, "buffers", kOffloadBuffers * (4 + element), "gradients and weights on their way");
    }
  }

  void program() {
    const bool narrow = shapes_.dtype() == at::kBFloat16;
    add(host().always, "program", resident_memory() + (narrow ? kNarrowProgramLater : kProgramLater),
        "code, plugins, task, LibTorch's threads and workspaces");
    if (!on_cpu_) add(plan_.device.always, "program", kDeviceProgram, "LibTorch's context and workspaces");
  }

  void phases(const MemoryWork& work) {
    auto& phases = plan_.device.phases;
    add(phases, "rollout", rollout_bytes(work.rollout, work.longest_prompt, work.responses),
        "activations, logits and caches of the active rows");
    if (work.evaluation != nullptr) {
      add(phases, "evaluation", rollout_bytes(work.evaluation, work.longest_prompt, work.evaluated_at_once),
          "likewise, evaluation.batch_size at a time");
    }
    const std::int64_t sequence = work.longest_prompt + work.response_length;
    if (work.needs.reference || work.needs.old) {
      add(phases, "scores", score_bytes(work.rows, sequence), "activations of one block, without gradients");
    }
    const std::int64_t budget = config_.section("train").get<std::int64_t>("memory_budget_mib") << 20;
    const std::int64_t workers = scoring_workers(shapes_, on_cpu_);
    add(phases, "update",
        workers * trained_.wide_bytes + trained_.largest +
            update_bytes(shapes_, work.rows, sequence, work.scored_tokens, budget),
        "gradients (float32" + (workers > 1 ? ", one set for each of " + std::to_string(workers) + " workers" : "") +
            "), activations and logits within train.memory_budget_mib");
  }

  std::int64_t rollout_bytes(const Rollout* rollout, std::int64_t prompt, std::int64_t responses) const {
    const auto* estimate = rollout != nullptr ? capability<RolloutCostEstimate>(*rollout) : nullptr;
    if (estimate == nullptr) return 0;
    RolloutCost cost;
    estimate->estimate_cost(shapes_, prompt, responses, on_cpu_, cost);
    return cost.bytes;
  }

  std::int64_t score_bytes(std::int64_t rows, std::int64_t sequence) const {
    const std::int64_t layer =
        shapes_.training_bytes_per_row(sequence) / std::max<std::int64_t>(1, shapes_.traits().layers);
    return std::min(rows, rows_scored_at_once(shapes_, sequence, on_cpu_)) * layer;
  }

  const RunConfig& config_;
  const Model& shapes_;
  const bool on_cpu_;
  const Trained trained_;
  MemoryPlan plan_;
};

}  // namespace

std::int64_t MemoryOfPlace::bytes() const {
  std::int64_t bytes = 0, phase = 0;
  for (const MemoryPart& part : always) bytes += part.bytes;
  for (const MemoryPart& part : phases) phase = std::max(phase, part.bytes);
  return bytes + phase;
}

MemoryPlan plan_memory(const RunConfig& config, const Model& shapes, const MemoryWork& work) {
  return MemoryPlanner(config, shapes).plan(work);
}

std::int64_t least_memory(const RunConfig& config, const Model& shapes, const LossNeeds& needs) {
  return MemoryPlanner(config, shapes).least(needs);
}

std::int64_t update_bytes(const Model& shapes, std::int64_t rows, std::int64_t sequence, std::int64_t scored_tokens,
                          std::int64_t budget) {
  const auto& traits = shapes.traits();
  const auto element = static_cast<std::int64_t>(shapes.lm_head_VH().element_size());
  const std::int64_t graph = shapes.training_bytes_per_row(sequence);
  const std::int64_t wanted = rows * graph + scored_tokens * traits.vocabulary_size * element;
  const std::int64_t one_block = graph / std::max<std::int64_t>(1, traits.layers) * 3 / 2;
  return std::max(std::min(wanted, budget), traits.layers * sequence * traits.hidden_size * element + one_block);
}

}  // namespace drift
