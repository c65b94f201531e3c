#include "tests/golden/set/golden_set.h"

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/nn/known_models.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace drift::test {
namespace {

std::filesystem::path manifest_path() {
  const char* given = std::getenv("DRIFT_GOLDEN_SET");
  return given ? std::filesystem::path(given) : source_dir() / "tests/golden/block/manifest.json";
}

nlohmann::json read_json(const std::filesystem::path& file) { return nlohmann::json::parse(read_file(file)); }

}  // namespace

// A reference, so that a loop over some of the numbers does not outlive them.
const nlohmann::json& GoldenCase::numbers() const {
  static std::map<std::filesystem::path, nlohmann::json> known;
  const auto [found, is_new] = known.try_emplace(path());
  if (is_new) found->second = read_json(path());
  return found->second;
}

std::string GoldenCase::plugin() const {
  static_cast<void>(all_plugins());  // whose descriptions are asked
  return nn::models_that_take(read_file(checkpoint() / "config.json")).at(0);
}

std::unique_ptr<Model> GoldenCase::model() const {
  const auto config = read_json(checkpoint() / "config.json");
  std::map<std::string, Parameter::Value> settings;
  const auto manifest = read_json(root / "manifest.json");
  for (const auto& one : manifest.at("checkpoints")) {
    if (one.at("name") != json.at("checkpoint")) continue;
    const bool has_block = config.contains("block_size") || config.contains("bd_size");
    if (one.value("block", nlohmann::json()).is_number() && !has_block)
      settings["block_size"] = one["block"].get<std::int64_t>();
    if (plugin() != "illada" && !config.contains("mask_token_id"))
      settings["mask_id"] = one.at("ids").at("mask").get<std::int64_t>();
  }
  return open_checkpoint(plugin(), checkpoint(), at::kFloat, at::kCPU, settings);
}

std::vector<GoldenCase> golden_cases(const std::string& folder, const std::string& id_begins) {
  const auto root = manifest_path().parent_path();
  std::vector<GoldenCase> cases;
  const auto manifest = read_json(manifest_path());
  for (const auto& json : manifest.at("cases")) {
    const std::string id = json.at("id");
    const std::filesystem::path file = json.at("file").get<std::string>();
    if (file.parent_path() != folder || !id.starts_with(id_begins) || !json.value("required", true)) continue;
    cases.push_back({id, json.value("mode", ""), json, root});
  }
  EXPECT_FALSE(cases.empty()) << manifest_path() << " has no case in the folder " << folder << " that begins with `"
                              << id_begins << "`";
  return cases;
}

}  // namespace drift::test
