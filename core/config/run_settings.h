#pragma once

// What each section of a configuration says, as a struct. A member's initial value is the key's default, and `declare`
// names the key beside the member, as a plugin does with its parameters: the checker, `drift help` and the resolved
// file read the same declarations.

#include <core/ranks/shard.h>

#include <drift/params.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// Where tensors live.
enum class DeviceKind { kCpu, kCuda };

/// [run]
struct RunSettings {
  static constexpr const char* kSection = "run";
  std::string name;
  std::uint64_t seed = 0;
  DeviceKind device = DeviceKind::kCpu;
  std::int64_t threads = 0;  ///< 0: as many as the process may
  double memory_gib = 0;     ///< 0: what is available
  bool deterministic = false;
  std::string bfloat16_products = kAuto;

  static constexpr const char* kAuto = "auto";

  bool on_cpu() const { return device == DeviceKind::kCpu; }
  /// On a GPU; the CPU always is.
  bool is_deterministic() const { return deterministic && !on_cpu(); }
  /// "cpu" or "cuda"
  const char* device_name() const { return on_cpu() ? "cpu" : "cuda"; }
  void declare(Parameters& parameters);
};

/// [model], beside the parameters of its backbone
struct ModelSettings {
  static constexpr const char* kSection = "model";
  std::string name, path;
  bool bfloat16 = false;
  std::string quantize = "none";  ///< none, nf4 or nf4_single
  bool random_weights = false;

  bool is_quantized() const { return quantize != "none"; }
  /// "float32" or "bfloat16"
  const char* type_name() const { return bfloat16 ? "bfloat16" : "float32"; }
  void declare(Parameters& parameters);
};

/// [adapter]
struct AdapterSettings {
  static constexpr const char* kSection = "adapter";
  bool lora = false;
  std::int64_t rank = 8;
  double alpha = 8, dropout = 0;
  std::vector<std::string> targets{"*"};
  std::string path;

  /// New adapters, or those of a saved folder.
  bool has_adapter() const { return lora || !path.empty(); }
  void declare(Parameters& parameters);
};

/// [task], beside the parameters of its component
struct TaskSettings {
  static constexpr const char* kSection = "task";
  std::string name;
  std::int64_t max_prompt_tokens = 0;  ///< 0: any

  void declare(Parameters& parameters);
};

/// [prompt]
struct PromptSettings {
  static constexpr const char* kSection = "prompt";
  std::string format = "none", instruction = "{question}", system, response_prefix;
  bool trailing_newline = false;
  bool enable_thinking = true;
  bool special_tokens_as_text = false;

  void declare(Parameters& parameters);
};

/// [reward], beside the parameters of its component
struct RewardSettings {
  static constexpr const char* kSection = "reward";
  std::string name;
  double weight = 1;
  std::string after;  ///< only what stands behind the last such text is judged
  bool truncation_is_wrong = false;
  std::int64_t truncation_margin = 5;

  void declare(Parameters& parameters);
};

/// [reward.NAME] of a further reward
struct AddedRewardSettings {
  std::string name;
  double weight = 1;
  std::string after;

  void declare(Parameters& parameters);
};

/// [rollout] and [evaluation.rollout], beside the parameters of their component
struct RolloutSettings {
  static constexpr const char* kSection = "rollout";
  std::string name;
  bool keep_after_end = false;

  void declare(Parameters& parameters);
};

/// [evaluation]
struct EvaluationSettings {
  static constexpr const char* kSection = "evaluation";
  std::int64_t every = 0;  ///< 0: only at the ends
  std::int64_t items = 0;  ///< 0: all
  std::int64_t validation_items = 0;
  std::int64_t samples = 1;
  std::int64_t batch_size = 64;
  bool before = true;
  bool trajectories = false;

  void declare(Parameters& parameters);
};

/// [report]
struct ReportSettings {
  static constexpr const char* kSection = "report";
  std::int64_t inspect_every = 25;  ///< 0: no step
  std::int64_t inspect_groups = 4;
  bool tensorboard = false;
  std::int64_t samples = 4;  ///< responses of each step, as texts

  void declare(Parameters& parameters);
};

/// [distributed]
struct DistributedSettings {
  static constexpr const char* kSection = "distributed";
  Shard shard = Shard::kNone;
  double timeout = 20;         ///< seconds
  double longest_wait = 7200;  ///< seconds

  void declare(Parameters& parameters);
};

/// [algorithm]
struct AlgorithmSettings {
  static constexpr const char* kSection = "algorithm";
  std::string name, preset;
  bool corrects_rollout = false;
  double rollout_correction_cap = 2;

  void declare(Parameters& parameters);
};

/// The values of a section as its struct.
template <class Settings>
Settings settings_from(const Parameters& section) {
  Settings settings;
  Parameters parameters = section;
  settings.declare(parameters);
  return settings;
}

/// The keys of a section, in the order in which it declares them.
template <class Settings>
std::vector<Parameter> declared_keys(Settings settings = {}) {
  std::vector<Parameter> keys;
  Parameters parameters = Parameters::collecting(keys);
  settings.declare(parameters);
  return keys;
}

}  // namespace drift
