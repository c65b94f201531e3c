#pragma once

// A set of golden data: a folder with manifest.json, checkpoints and cases (tests/golden/block/README.md). Which one
// says DRIFT_GOLDEN_SET, the path of its manifest; without it, it is the set in this tree.

#include <drift/model.h>

#include <core/io/safetensors.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace drift::test {

/// One case of the manifest.
struct GoldenCase {
  std::string id, mode;
  nlohmann::json json;         ///< as the manifest has it
  std::filesystem::path root;  ///< the set's folder

  std::filesystem::path path() const { return root / json.at("file").get<std::string>(); }
  SafetensorsFile tensors() const { return SafetensorsFile(path()); }
  const nlohmann::json& numbers() const;  ///< of a case whose file is JSON; they live as long as the program

  std::filesystem::path checkpoint() const { return root / "ckpt" / json.at("checkpoint").get<std::string>(); }
  /// The plugin whose description selects the checkpoint.
  std::string plugin() const;
  /// Of the checkpoint, in float32, with the ids and the block size that its folder lacks.
  std::unique_ptr<Model> model() const;
};

/// The required cases of a group ("grad", "sft", "unit", "plans", "losses"), perhaps only those whose id begins so.
/// Fails the running test if there are none.
std::vector<GoldenCase> golden_cases(const std::string& group, const std::string& id_begins = "");

}  // namespace drift::test
