#include <core/train/memory_plan.h>

#include <core/base/adapters.h>
#include <core/base/memory.h>
#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/boundary/streamed_model.h>
#include <core/kernels/product.h>
#include <core/update/policy_scores.h>
#include <core/update/update_passes.h>
#include <core/update/value_model.h>

#include <ATen/OpMathType.h>

#include <algorithm>
#include <bit>

namespace drift {
namespace {

// What a run's program takes beyond a dry run's: the threads' stacks, the products' workspaces, compiled kernels, code
// that is first used in a step. Measured (docs/performance.md).
constexpr std::int64_t kProgramLater = 35 << 20;
constexpr std::int64_t kNativeProducts = 75 << 20;  // oneDNN's of bfloat16, one compiled for every shape
// Of what training_bytes_per_row() counts, in quarters, what is resident at the fullest moment. Measured, not derived:
// the last block, for example, keeps scored rows only.
constexpr std::int64_t kLiveQuarters = 3;
// LibTorch on a device: context, library handles and their workspaces.
constexpr std::int64_t kDeviceProgram = std::int64_t{700} << 20;
constexpr std::int64_t kOffloadBuffers = std::int64_t{2} << 23;  // elements, core/update/optimizer.cpp

AdamwSettings adamw_of(const RunConfig& config) {
  return config.has("train") ? config.get<TrainSettings>().adamw : config.get<PretrainSettings>().adamw;
}

class MemoryPlanner {
 public:
  MemoryPlanner(const RunConfig& config, const Model& shapes, const Sharding& ranks)
      : config_(config),
        shapes_(shapes),
        ranks_(ranks),
        on_cpu_(config.get<RunSettings>().on_cpu()),
        trained_(shapes) {}

  MemoryPlan plan(const MemoryWork& work) {
    state(work.needs);
    program();
    phases(work);
    return std::move(plan_);
  }

  std::int64_t least(const LossNeeds& needs) {
    state(needs);
    return plan_.device.bytes() + share(trained_.wide_bytes, Shard::kGradients);
  }

 private:
  /// In host memory: the device's own where that is the CPU.
  MemoryOfPlace& host() { return on_cpu_ ? plan_.device : plan_.host; }

  static void add(std::vector<MemoryPart>& parts, const std::string& name, std::int64_t bytes,
                  const std::string& note) {
    parts.push_back({name, bytes, note});
  }

  void state(const LossNeeds& needs) {
    weights();
    if (needs.reference) reference();
    optimizer("");
    if (!config_.has("value") || !has_value_model(config_)) return;
    // Its gradients and activations take turns with the policy's, which are as large.
    add(plan_.device.always, "value model", weight_bytes(shapes_), "[value]");
    optimizer("value model's ");
  }

  bool is_divided(Shard what) const { return ranks_.count > 1 && ranks_.shard >= what; }
  /// A rank's share of `bytes` that are divided among the ranks from `what` on.
  std::int64_t share(std::int64_t bytes, Shard what) const {
    return is_divided(what) ? ranks_.largest_share(bytes) : bytes;
  }

  void weights() {
    const std::string type = config_.get<ModelSettings>().type_name();
    const std::int64_t of_adapters = bytes_of(adapter_parameters(shapes_));
    add(plan_.device.always, "weights", held_weight_bytes() - of_adapters, type);
    if (of_adapters > 0) add(plan_.device.always, "adapters", of_adapters, type);
    if (is_divided(Shard::kParameters)) {
      add(plan_.device.always, "gathered weights", 2 * block_bytes(blocks_bytes()),
          "the block that is computed, and the next");
    }
  }

  /// Of all blocks; 0 if they cannot be divided.
  std::int64_t blocks_bytes() const {
    if (config_.get<ModelSettings>().is_quantized()) return 0;
    return parameters_of_blocks(shapes_).value_or(0) * static_cast<std::int64_t>(shapes_.lm_head_VH().element_size());
  }
  /// Weights of the blocks are divided; embedding, last norm, head and adapters are whole.
  std::int64_t held_weight_bytes() const {
    return weight_bytes(shapes_) - blocks_bytes() + share(blocks_bytes(), Shard::kParameters);
  }
  std::int64_t block_bytes(std::int64_t bytes_of_all) const {
    return bytes_of_all / std::max<std::int64_t>(1, shapes_.traits().layers);
  }

  /// With adapters the frozen weights are the reference policy.
  void reference() {
    const auto settings = config_.get<ReferenceSettings>();
    if (settings.kind == ReferenceKind::kOld || has_adapter(config_)) return;
    const std::int64_t bytes = weight_bytes(shapes_);
    if (!settings.offload) {
      add(plan_.device.always, "reference policy", held_weight_bytes(), "[reference] policy");
      return;
    }
    require_streamable(config_, shapes_);
    const StreamedBytes streamed = streamed_bytes(shapes_, on_cpu_);
    add(plan_.device.always, "reference policy", bytes - streamed.blocks + streamed.held,
        std::string("[reference] offload: embedding, head and ") + (on_cpu_ ? "one block" : "two blocks"));
    if (streamed.pinned > 0) add(host().always, "reference policy", streamed.pinned, "the blocks, pinned");
  }

  void optimizer(const std::string& whose) {
    const AdamwSettings adamw = adamw_of(config_);
    const bool away = !on_cpu_ && adamw.offload;
    MemoryOfPlace& place = away ? plan_.host : plan_.device;
    const std::int64_t masters = share(away ? trained_.wide_bytes : trained_.masters, Shard::kOptimizer);
    if (masters > 0) add(place.always, whose + "master weights", masters, "float32");
    add(place.always, whose + "AdamW's moments", share(trained_.moment_bytes(config_), Shard::kOptimizer),
        adamw.narrow_moments ? "bfloat16, two" : "float32, two");
    if (away) {
      const std::int64_t element = static_cast<std::int64_t>(shapes_.lm_head_VH().element_size());
      add(place.always, "buffers", kOffloadBuffers * (4 + element), "gradients and weights on their way");
    }
  }

  void program() {
    const bool compiles = on_cpu_ && shapes_.dtype() == at::kBFloat16 && !is_widened();
    add(host().always, "program", resident_memory() + kProgramLater + (compiles ? kNativeProducts : 0),
        "code, plugins, task, LibTorch's threads and workspaces");
    if (!on_cpu_) add(plan_.device.always, "program", kDeviceProgram, "LibTorch's context and workspaces");
  }

  void phases(MemoryWork work) {
    for (std::int64_t* count : {&work.responses, &work.evaluated_at_once, &work.rows, &work.scored_tokens})
      *count = ranks_.largest_share(*count);
    auto& phases = plan_.device.phases;
    add(phases, "rollout", rollout_bytes(work.rollout, work.longest_prompt, work.responses),
        "activations, logits and caches of the active rows");
    if (work.evaluation != nullptr) {
      add(phases, "evaluation", rollout_bytes(work.evaluation, work.longest_prompt, work.evaluated_at_once),
          "likewise, evaluation.batch_size at a time");
    }
    const std::int64_t sequence = work.longest_prompt + work.response_length + work.copied_tokens;
    if (work.needs.reference || work.needs.old) {
      add(phases, "scores", score_bytes(work.rows, sequence), "activations of one block, without gradients");
    }
    add(phases, "update", update_bytes(work, sequence), update_note());
  }

  /// The larger of two moments. One is the first pass before its backward: there is no gradient but the LM head's, and
  /// a block has its gradients of activations, in widened products also float32 copies. The other is the last backward
  /// when it ends: all gradients, and one block's activations, or a later pass beside them. In between, gradients take
  /// the memory of the activations that go (core/base/large_blocks.h).
  std::int64_t update_bytes(const MemoryWork& work, std::int64_t sequence) const {
    const auto& traits = shapes_.traits();
    const auto head = shapes_.lm_head_VH();
    const auto element = static_cast<std::int64_t>(head.element_size());
    const std::int64_t layers = std::max<std::int64_t>(1, traits.layers);
    const std::int64_t budget = config_.get<TrainSettings>().memory_budget;
    const std::int64_t graph = checked_bytes_per_row(shapes_, sequence);
    const std::int64_t wanted = work.rows * graph + work.scored_tokens * traits.vocabulary_size * element;
    const std::int64_t first = std::max(std::min(wanted, budget), recomputed_row_bytes(shapes_, sequence));
    const std::int64_t later = std::clamp<std::int64_t>(wanted - first, 0, first);

    const std::int64_t in_a_block = is_widened() ? first / layers : first / layers / 2;
    const auto live = [](std::int64_t bytes) { return bytes / 4 * kLiveQuarters; };
    return std::max(live(first + in_a_block) + head_gradient_bytes(),
                    gradient_bytes() + std::max(live(later), in_a_block));
  }

  std::int64_t head_gradient_bytes() const {
    const auto head = shapes_.lm_head_VH();
    return head.requires_grad() ? head.numel() * (trained_.wide_bytes / trained_.elements) : 0;
  }

  bool is_widened() const {
    return on_cpu_ && shapes_.dtype() == at::kBFloat16 &&
           kernels::bfloat16_products() == kernels::Bfloat16Products::kWidened;
  }

  /// One set for each worker, and the one that is being added. Of divided ones, what leaves and what comes next are at
  /// most a block; the head's leaves when all is done.
  std::int64_t gradient_bytes() const {
    if (is_divided(Shard::kGradients))
      return share(trained_.wide_bytes, Shard::kGradients) + block_bytes(trained_.wide_bytes) + trained_.largest +
             head_gradient_bytes();
    return scoring_workers(shapes_, on_cpu_) * trained_.wide_bytes + trained_.largest;
  }

  std::string update_note() const {
    const std::int64_t workers = scoring_workers(shapes_, on_cpu_);
    return "gradients (float32" + (workers > 1 ? ", one set for each of " + std::to_string(workers) + " workers" : "") +
           "), activations and logits within train.memory_budget_mib";
  }

  std::int64_t rollout_bytes(const Rollout* rollout, std::int64_t prompt, std::int64_t responses) const {
    const auto cost = rollout == nullptr ? std::nullopt : checked_cost(*rollout, shapes_, prompt, responses, on_cpu_);
    return cost ? cost->bytes : 0;
  }

  std::int64_t score_bytes(std::int64_t rows, std::int64_t sequence) const {
    const std::int64_t layer =
        checked_bytes_per_row(shapes_, sequence) / std::max<std::int64_t>(1, shapes_.traits().layers);
    return std::min(rows, rows_scored_at_once(shapes_, sequence, on_cpu_)) * layer;
  }

  const RunConfig& config_;
  const Model& shapes_;
  const Sharding ranks_;
  const bool on_cpu_;
  const TrainedSizes trained_;
  MemoryPlan plan_;
};

}  // namespace

std::int64_t MemoryOfPlace::bytes() const {
  std::int64_t bytes = 0, phase = 0;
  for (const MemoryPart& part : always) bytes += part.bytes;
  for (const MemoryPart& part : phases) phase = std::max(phase, part.bytes);
  return bytes + phase;
}

TrainedSizes::TrainedSizes(const Model& shapes) {
  for (const NamedTensor& parameter : trainable_parameters(shapes)) {
    const std::int64_t count = parameter.tensor.numel();
    const auto own = static_cast<std::int64_t>(parameter.tensor.element_size());
    const auto wide = static_cast<std::int64_t>(c10::elementSize(at::toOpMathType(parameter.tensor.scalar_type())));
    elements += count;
    bytes += count * own;
    wide_bytes += count * wide;
    if (wide > own) masters += count * wide;
    largest = std::max(largest, count * (wide + own));
  }
}

std::int64_t TrainedSizes::moment_bytes(const RunConfig& config) const {
  const bool narrow = adamw_of(config).narrow_moments;
  return narrow ? 2 * 2 * elements : 2 * wide_bytes;
}

MemoryPlan plan_memory(const RunConfig& config, const Model& shapes, const MemoryWork& work, const Sharding& ranks) {
  return MemoryPlanner(config, shapes, ranks).plan(work);
}

std::int64_t least_memory(const RunConfig& config, const Model& shapes, const LossNeeds& needs, const Sharding& ranks) {
  return MemoryPlanner(config, shapes, ranks).least(needs);
}

std::int64_t default_memory_budget(std::int64_t total, std::int64_t least, bool on_cpu) {
  constexpr std::int64_t kLeastBudget = std::int64_t{64} << 20;
  const std::int64_t share = (total - least) / (on_cpu ? 4 : 2);  // a CPU's memory is also that of other programs
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max(share, kLeastBudget))));
}

}  // namespace drift
