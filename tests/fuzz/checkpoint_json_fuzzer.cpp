// The JSON files of a checkpoint, of any text: the index of its shards, and config.json as the core hands it to the
// backbones.

#include <core/io/atomic.h>
#include <core/io/checkpoint.h>
#include <core/io/checkpoint_weights.h>
#include <core/io/json.h>
#include <core/io/safetensors.h>
#include <core/nn/described_config.h>
#include <tests/fuzz/fuzz.h>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <nlohmann/json.hpp>

namespace drift::fuzz {
extern const char *const k_llada, *const k_dream, *const k_sdar, *const k_llada2;  // plugins/models
}

namespace drift::checkpoint_json_fuzzer {
namespace {

namespace fs = std::filesystem;

// A value is replaced and nothing else.
void replace_value(const std::string& text, const nlohmann::json& parsed) {
  const std::string changed = drift::replace_json_value(text, {"torch_dtype"}, "\"float32\"");
  nlohmann::json expected = parsed;
  nlohmann::json found = drift::parse_json_object(changed, "changed");
  expected.erase("torch_dtype");
  found.erase("torch_dtype");
  drift::fuzz::require(expected == found);
  (void)drift::replace_json_value(text, {"metadata", "total_size"}, "7");
}

// Two shards of one tensor each, whose index is the input.
struct Shards {
  drift::AtomicFolder folder{fs::temp_directory_path() / "drift-fuzz-checkpoint"};
  Shards() {
    drift::write_safetensors(folder.path() / "1.safetensors", {{"a", at::ones({2})}});
    drift::write_safetensors(folder.path() / "2.safetensors", {{"b", at::ones({2, 2})}});
    drift::write_file_atomically(folder.path() / "config.json", "{}");
  }
};

// An index that fits is repeated to the last byte when the checkpoint is saved.
void open_and_save(const std::string& index) {
  static const Shards shards;
  const fs::path& folder = shards.folder.path();
  drift::write_file_atomically(folder / drift::kWeightIndexFile, index);
  const std::vector<drift::NamedTensor> parameters{{"a", at::zeros({2})}, {"b", at::zeros({2, 2})}};
  if (!drift::fuzz::accepted([&] { drift::load_parameters(folder, parameters); })) return;
  drift::fuzz::require(parameters[0].tensor.sum().item<double>() == 2);
  drift::AtomicFolder copy(fs::temp_directory_path() / "drift-fuzz-copy");
  const auto config = drift::read_config_json(folder);
  drift::write_checkpoint_files(copy.path(), parameters, config, folder);
  drift::fuzz::require(drift::CheckpointWeights(copy.path()).files().size() == 2);
}

void read_as(const char* family, const std::string& config) {
  const auto description = drift::nn::parse_description(family, "family.toml");
  const drift::Parameters params(drift::nn::described_parameters(description),
                                 {{"ignored_settings", std::vector<std::string>{"quantisation"}}});
  drift::ModelConfig model;
  model.config_json = config;
  drift::nn::read_config(description, model, params);
}

}  // namespace

DRIFT_FUZZ_TARGET(checkpoint_json) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  nlohmann::json parsed;
  const bool is_json = drift::fuzz::accepted([&] { parsed = drift::parse_json_object(text, "config.json"); });
  const bool is_index = drift::fuzz::accepted([&] { drift::parse_weight_index(text, "index"); });
  drift::fuzz::require(is_json || !is_index);
  if (!is_json) return 0;
  replace_value(text, parsed);
  using namespace drift::fuzz;
  for (const char* const description : {k_llada, k_dream, k_sdar, k_llada2})
    drift::fuzz::accepted([&] { read_as(description, text); });
  if (is_index) open_and_save(text);
  return 0;
}

}  // namespace drift::checkpoint_json_fuzzer
