#pragma once

#include <drift/model.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// Low-rank adapters as the Python package peft keeps them: a folder with adapter_config.json and
// adapter_model.safetensors, whose tensors are called base_model.model.MODULE.lora_A.weight and …lora_B.weight.

namespace drift {

/// An adapter without its tensors: what is added to each module is alpha / rank B A.
struct AdapterDescription {
  std::int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;                ///< share of the inputs that training leaves out
  std::vector<std::string> modules;  ///< in full: "model.layers.0.self_attn.q_proj"
  std::string base;                  ///< the checkpoint that it was trained on; may be empty
};

/// Whether a folder holds a saved adapter.
bool holds_adapter(const std::filesystem::path& folder);

/// adapter_config.json.
std::string adapter_json(const AdapterDescription& adapter);

/// The adapter of a folder, from adapter_config.json and the names of its tensors.
/// @throws Error if there is none, a file is damaged, or it is of a kind that Drift does not compute: that is said key
/// by key.
AdapterDescription read_adapter(const std::filesystem::path& folder);

/// "the adapter in A was trained on B, not on C"; empty if it names `checkpoint`, or none that is on this machine.
/// Models of one shape take each other's adapters, and peft does not compare them either.
std::string trained_elsewhere(const std::filesystem::path& folder, const std::filesystem::path& checkpoint);

/// An adapter that a run saved knows the contents of the checkpoint that it was trained on: read them all and compare.
/// @throws Error if `checkpoint` has others
void require_trained_base(const std::filesystem::path& folder, const std::filesystem::path& checkpoint);

/// Fill the tensors of a model's adapters (MODULE.lora_A.weight, MODULE.lora_B.weight), of any device and type.
/// @throws Error that lists every missing, surplus and misshapen tensor; then none has been touched.
void load_adapter(const std::filesystem::path& folder, const std::vector<NamedTensor>& parameters);

/// Write both files into an existing folder.
void write_adapter_files(const std::filesystem::path& folder, const AdapterDescription& adapter,
                         const std::vector<NamedTensor>& parameters);

/// A new folder with the weights W + alpha / rank B A: a checkpoint whose files are those of `checkpoint` in names,
/// order, types and headers. One tensor at a time is in memory; sums are float32.
/// @return how many weights are others than before
/// @throws Error if the adapter does not fit the checkpoint, a sum is not finite, or `folder` exists and is not empty.
std::size_t merge_adapter(const std::filesystem::path& checkpoint, const std::filesystem::path& adapter,
                          const std::filesystem::path& folder);

}  // namespace drift
