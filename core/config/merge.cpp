#include <core/config/merge.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace drift {
namespace {

/// A key that names a component, and the sections whose values were written for that component.
struct NamingKey {
  std::string_view key;
  std::vector<std::string_view> sections;
};

const std::vector<NamingKey>& naming_keys() {
  static const std::vector<NamingKey> keys = {
      {"model.name", {"model"}},
      {"task.name", {"task", "reward"}},
      {"reward.name", {"reward"}},
      {"rollout.name", {"rollout", "evaluation.rollout"}},
      {"evaluation.rollout.name", {"evaluation.rollout"}},
      {"algorithm.name", {"algorithm", "algorithm.masking", "algorithm.loss"}},
      {"algorithm.masking.name", {"algorithm.masking"}},
      {"algorithm.loss.name", {"algorithm.loss"}},
  };
  return keys;
}

std::string text_of(const ConfigLeaf& leaf) {
  const auto* text = leaf.value ? std::get_if<std::string>(&*leaf.value) : nullptr;
  return text == nullptr ? "" : *text;
}

/// What the checkpoint says that it is: `model_type` of its config.json, in small letters as components are named;
/// empty if it says nothing.
std::string checkpoint_family(const std::filesystem::path& folder) {
  std::ifstream file(folder / "config.json");
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("model_type") || !json["model_type"].is_string()) return {};
  auto type = json["model_type"].get<std::string>();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type;
}

class Merger {
 public:
  Merger(const ConfigDocument& document, const Registry& registry) : registry_(registry) {
    for (ConfigLayer layer : document.layers) add(std::move(layer));
    add_preset();
  }

  MergedConfig merged;

 private:
  void add(ConfigLayer layer) {
    name_model_by_its_checkpoint(layer);
    for (const NamingKey& naming : naming_keys()) {
      const auto found = layer.leaves.find(std::string(naming.key));
      if (found == layer.leaves.end()) continue;
      const std::string before = in_force(naming.key, layer);
      if (!before.empty() && before != text_of(found->second)) set_aside(naming, found->second);
    }
    for (auto& [key, leaf] : layer.leaves) merged.leaves.insert_or_assign(key, std::move(leaf));
    for (auto& [key, origin] : layer.tables) merged.tables.insert_or_assign(key, std::move(origin));
  }

  void name_model_by_its_checkpoint(ConfigLayer& layer) const {
    const auto path = layer.leaves.find("model.path");
    if (path == layer.leaves.end() || layer.leaves.contains("model.name") || text_of(path->second).empty()) return;
    const std::string family = checkpoint_family(path->second.folder / text_of(path->second));
    if (registry_.find(ComponentKind::kModel, family) == nullptr) return;
    ConfigLeaf name = path->second;
    name.value = family;
    name.origin = {Origin::Kind::kDerived, "config.json of " + text_of(path->second), {}, {}};
    layer.leaves["model.name"] = std::move(name);
  }

  /// The component that the layers so far chose, also where they did so without naming it.
  std::string in_force(std::string_view key, const ConfigLayer& layer) const {
    if (const std::string named = merged.text(key); !named.empty()) return named;
    if (key == "reward.name") return merged.text("task.name");
    if (key == "evaluation.rollout.name") return merged.text("rollout.name");
    if (key == "algorithm.masking.name" || key == "algorithm.loss.name") {
      std::string algorithm = merged.text("algorithm.name");
      if (const auto own = layer.leaves.find("algorithm.name"); algorithm.empty() && own != layer.leaves.end()) {
        algorithm = text_of(own->second);
      }
      if (const Bundle* bundle = registry_.find_bundle(algorithm)) {
        return key == "algorithm.loss.name" ? bundle->loss : bundle->masking;
      }
    }
    return {};
  }

  void set_aside(const NamingKey& naming, const ConfigLeaf& name) {
    std::erase_if(merged.leaves, [&](const auto& entry) {
      const auto& [key, leaf] = entry;
      if (key == naming.key || key == "model.dtype" || key == "model.initialize") return false;
      const auto section = section_of(key);
      if (std::find(naming.sections.begin(), naming.sections.end(), section) == naming.sections.end()) return false;
      merged.set_aside.push_back(key + " (" + leaf.origin.text() + "): " + name.origin.text() + " names another " +
                                 std::string(section_of(naming.key)));
      return true;
    });
  }

  void add_preset() {
    const Bundle* bundle = registry_.find_bundle(merged.text("algorithm.name"));
    if (bundle == nullptr) return;
    const BundlePreset* file = preset_in_force(*bundle, merged.text("algorithm.preset"));
    if (file == nullptr) return;
    const bool own_masking = in_force("algorithm.masking.name", {}) == bundle->masking;
    const bool own_loss = in_force("algorithm.loss.name", {}) == bundle->loss;
    // Settings for a part that was swapped were not meant for the one in its place.
    const auto swapped = [&](std::string_view section) {
      return (section == "algorithm.masking" && !own_masking) || (section == "algorithm.loss" && !own_loss);
    };
    const Preset& preset = merged.preset.emplace(read_preset(*bundle, *file));
    for (const auto& [key, leaf] : preset.layer.leaves) {
      const std::string section(section_of(key));
      if (!swapped(section)) merged.leaves.try_emplace(key, leaf);
      if (merged.leaves.contains(key)) continue;
      merged.set_aside.push_back(key + " (" + leaf.origin.text() +
                                 "): " + merged.find(section + ".name")->origin.text() + " names another " + section);
    }
    for (const auto& [table, origin] : preset.layer.tables) {
      if (!swapped(table)) merged.tables.try_emplace(table, origin);
    }
  }

  const Registry& registry_;
};

}  // namespace

const ConfigLeaf* MergedConfig::find(std::string_view key) const {
  const auto found = leaves.find(std::string(key));
  return found == leaves.end() ? nullptr : &found->second;
}

std::string MergedConfig::text(std::string_view key) const {
  const ConfigLeaf* leaf = find(key);
  return leaf == nullptr ? "" : text_of(*leaf);
}

MergedConfig merge_layers(const ConfigDocument& document, const Registry& registry) {
  return Merger(document, registry).merged;
}

}  // namespace drift
