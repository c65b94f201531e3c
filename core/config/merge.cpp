#include <core/config/merge.h>

#include <core/base/component_host.h>
#include <core/io/json.h>
#include <core/nn/known_models.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace drift {
namespace {

std::string text_of(const ConfigLeaf& leaf) {
  const auto* text = leaf.value ? std::get_if<std::string>(&*leaf.value) : nullptr;
  return text == nullptr ? "" : *text;
}

/// The model that a checkpoint's config.json is of: that whose description selects it; else the one with its
/// `model_type`, in small letters as components are named; empty if it is of none.
/// @throws Error naming the file if it is damaged
std::string checkpoint_family(const std::filesystem::path& folder, const Registry& registry) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / "config.json", ignored)) return {};
  const auto json = read_json_object(folder / "config.json");
  if (!json.contains("model_type") || !json["model_type"].is_string()) return {};
  auto type = json["model_type"].get<std::string>();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  auto names = nn::models_that_take(json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  names.push_back(type);
  const auto known = std::ranges::find_if(
      names, [&](const std::string& name) { return registry.find(ComponentKind::kModel, name) != nullptr; });
  return known == names.end() ? std::string() : *known;
}

/// The model that reads what it is from a file which `[model] description` names; empty if there is none.
std::string model_of_descriptions(const Registry& registry) {
  for (const ComponentEntry& entry : registry.components()) {
    const auto is_description = [](const Parameter& spec) { return spec.name == "description"; };
    if (entry.kind == ComponentKind::kModel && std::ranges::any_of(entry.params, is_description)) return entry.name;
  }
  return {};
}

std::string owner(const ComponentEntry& component) {
  return std::string(kind_name(component.kind)) + " `" + component.name + "`";
}

/// Why a component does not take a value that was written for another one; empty if it does.
std::string refusal(const SectionSchema& section, const ComponentEntry& component, const std::string& key,
                    const ConfigLeaf& leaf) {
  const auto named = [&](const Parameter& spec) { return spec.name == name_of(key); };
  if (std::ranges::any_of(section.keys, named)) return {};
  const auto spec = std::ranges::find_if(component.params, named);
  if (spec == component.params.end()) return missing_parameter(component);
  const std::string its = "`" + spec->name + "` of " + owner(component);
  const auto value = leaf.value ? spec->as_declared(*leaf.value) : std::nullopt;
  if (!value) return its + " is of type " + std::string(type_name(spec->default_value));
  const std::string violation = spec->violation(*value);
  return violation.empty() ? "" : its + " " + violation;
}

/// The entry with the declaration that the values written in this section lead to; mistakes in them are found later.
ComponentEntry declared_in(const std::string& section, const ComponentEntry& entry, const MergedConfig& merged) {
  std::map<std::string, Parameter::Value> values;
  for (const Parameter& spec : entry.params) {
    const ConfigLeaf* leaf = merged.find(section + "." + spec.name);
    auto value = leaf != nullptr && leaf->value ? spec.as_declared(*leaf->value) : std::nullopt;
    if (!value || !spec.violation(*value).empty()) continue;
    if (spec.is_path) leaf->make_absolute(*value);
    values.emplace(spec.name, std::move(*value));
  }
  return with_declaration(entry, values);
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
    name_model(layer);
    const auto before = components();
    set_names_aside(layer);
    std::set<std::string> own;
    for (auto& [key, leaf] : layer.leaves) {
      own.insert(key);
      merged.leaves.insert_or_assign(key, std::move(leaf));
    }
    for (auto& [key, origin] : layer.tables) merged.tables.insert_or_assign(key, std::move(origin));
    for (const auto& [section, name] : components()) {
      const auto earlier = before.find(section);
      if (earlier != before.end() && earlier->second != name) set_parameters_aside(section, name, own);
    }
  }

  /// By its description, else by its checkpoint.
  void name_model(ConfigLayer& layer) const {
    if (layer.leaves.contains("model.name")) return;
    const auto name_it = [&](const ConfigLeaf& leaf, const std::string& model, const std::string& why) {
      if (model.empty()) return;
      ConfigLeaf name = leaf;
      name.value = model;
      name.origin = {Origin::Kind::kDerived, why, {}, {}};
      layer.leaves["model.name"] = std::move(name);
    };
    const auto description = layer.leaves.find("model.description"), path = layer.leaves.find("model.path");
    if (description != layer.leaves.end() && !text_of(description->second).empty()) {
      name_it(description->second, model_of_descriptions(registry_), "[model] description");
    } else if (path != layer.leaves.end() && !text_of(path->second).empty() &&
               merged.text("model.description").empty()) {
      const auto folder = path->second.place_of(text_of(path->second));
      name_it(path->second, checkpoint_family(folder, registry_), "config.json of " + text_of(path->second));
    }
  }

  /// By section, the component that the layers so far chose.
  std::map<std::string, std::string> components() const {
    std::map<std::string, std::string> chosen;
    for (const SectionSchema& schema : config_sections()) {
      if (!schema.component || schema.is_family) continue;
      if (std::string name = component_of(schema.name); !name.empty()) chosen[schema.name] = std::move(name);
    }
    return chosen;
  }

  std::string component_of(const std::string& section) const {
    return chosen_component(*find_section(section), merged, registry_).name;
  }

  /// Another algorithm brings its own masking strategy, loss and presets, another task its own reward.
  void set_names_aside(const ConfigLayer& layer) {
    const auto renamed = [&](const std::string& key) -> const ConfigLeaf* {
      const auto found = layer.leaves.find(key);
      const std::string before = merged.text(key);
      return found == layer.leaves.end() || before.empty() || before == text_of(found->second) ? nullptr
                                                                                               : &found->second;
    };
    const auto drop = [&](const std::string& key, const ConfigLeaf& name, const std::string& what) {
      const auto found = merged.leaves.find(key);
      if (found == merged.leaves.end() || layer.leaves.contains(key)) return;
      merged.set_aside.push_back({key, std::move(found->second), name.origin.text() + " names another " + what});
      merged.leaves.erase(found);
    };
    if (const ConfigLeaf* name = renamed("algorithm.name")) {
      drop("algorithm.masking.name", *name, "algorithm");
      drop("algorithm.loss.name", *name, "algorithm");
      const Algorithm* algorithm = registry_.find_algorithm(text_of(*name));
      if (algorithm == nullptr || preset_in_force(*algorithm, merged.text("algorithm.preset")) == nullptr)
        drop("algorithm.preset", *name, "algorithm");
    }
    const ConfigLeaf* task = renamed("task.name");
    if (task != nullptr && registry_.find(ComponentKind::kReward, text_of(*task)) != nullptr)
      drop("reward.name", *task, "task");
  }

  /// What earlier layers wrote for another component stays where this one takes it.
  void set_parameters_aside(const std::string& section, const std::string& name, const std::set<std::string>& own) {
    const SectionSchema& schema = *find_section(section);
    const ComponentEntry* registered = registry_.find(*schema.component, name);
    if (registered == nullptr) return;  // a mistake of its own
    const ComponentEntry component = declared_or_registered(section, *registered);
    std::erase_if(merged.leaves, [&](const auto& entry) {
      const auto& [key, leaf] = entry;
      if (section_of(key) != section || own.contains(key) || leaf.optional) return false;
      std::string reason = refusal(schema, component, key, leaf);
      if (reason.empty()) return false;
      merged.set_aside.push_back({key, leaf, std::move(reason)});
      return true;
    });
  }

  ComponentEntry declared_or_registered(const std::string& section, const ComponentEntry& entry) const {
    try {
      return declared_in(section, entry, merged);
    } catch (const Error&) {  // said where the section is checked
      return entry;
    }
  }

  void add_preset() {
    const Algorithm* algorithm = registry_.find_algorithm(merged.text("algorithm.name"));
    if (algorithm == nullptr) return;
    const AlgorithmPreset* file = preset_in_force(*algorithm, merged.text("algorithm.preset"));
    if (file == nullptr) return;
    const bool own_masking = component_of("algorithm.masking") == algorithm->masking;
    const bool own_loss = component_of("algorithm.loss") == algorithm->loss;
    // Settings for a part that was swapped were not meant for the one in its place.
    const auto swapped = [&](std::string_view section) {
      return (section == "algorithm.masking" && !own_masking) || (section == "algorithm.loss" && !own_loss);
    };
    const Preset& preset = merged.preset.emplace(read_preset(*algorithm, *file));
    for (const auto& [key, leaf] : preset.layer.leaves) {
      const std::string section(section_of(key));
      if (!swapped(section)) merged.leaves.try_emplace(key, leaf);
      if (merged.leaves.contains(key)) continue;
      const std::string name = merged.find(section + ".name")->origin.text();
      merged.set_aside.push_back({key, leaf, name + " names another " + std::string(name_of(section))});
    }
    for (const auto& [table, origin] : preset.layer.tables) {
      if (!swapped(table)) merged.tables.try_emplace(table, origin);
    }
  }

  const Registry& registry_;
};

}  // namespace

std::string missing_parameter(const ComponentEntry& component) { return owner(component) + " has no such parameter"; }

std::string SetAside::text() const {
  return key + " = " + leaf.text() + " (" + leaf.origin.text() + ") has no effect: " + reason;
}

const ConfigLeaf* MergedConfig::find(std::string_view key) const {
  const auto found = leaves.find(std::string(key));
  return found == leaves.end() ? nullptr : &found->second;
}

std::string MergedConfig::text(std::string_view key) const {
  const ConfigLeaf* leaf = find(key);
  return leaf == nullptr ? "" : text_of(*leaf);
}

ComponentEntry declared_entry(const ComponentEntry& entry, const MergedConfig& merged) {
  for (const SectionSchema& schema : config_sections()) {
    if (schema.component != entry.kind || schema.is_family) continue;
    const std::string chosen = merged.text(schema.name + ".name");
    const bool is_written = std::ranges::any_of(
        entry.params, [&](const Parameter& spec) { return merged.find(schema.name + "." + spec.name) != nullptr; });
    if (is_written && (chosen.empty() || chosen == entry.name)) return declared_in(schema.name, entry, merged);
  }
  return entry;
}

ChosenComponent chosen_component(const SectionSchema& section, const MergedConfig& merged, const Registry& registry) {
  const auto derived = [](const std::string& name, const std::string& from) {
    return ChosenComponent{name, {Origin::Kind::kDerived, from, {}, {}}};
  };
  if (const ConfigLeaf* leaf = merged.find(section.name + ".name")) return {text_of(*leaf), leaf->origin};
  if (section.name == "evaluation.rollout") return derived(merged.text("rollout.name"), "as in [rollout]");
  const std::string label(name_of(section.name)), task = merged.text("task.name");
  if (section.is_family && registry.find(*section.component, label) != nullptr)
    return derived(label, "the section's name");
  if (section.name == "reward" && registry.find(ComponentKind::kReward, task) != nullptr)
    return derived(task, "as in [task]");
  const Algorithm* algorithm = registry.find_algorithm(merged.text("algorithm.name"));
  if (section.name == "algorithm.masking" && algorithm != nullptr)
    return derived(algorithm->masking, "algorithm " + algorithm->name);
  if (section.name == "algorithm.loss" && algorithm != nullptr)
    return derived(algorithm->loss, "algorithm " + algorithm->name);
  return {};
}

MergedConfig merge_layers(const ConfigDocument& document, const Registry& registry) {
  return Merger(document, registry).merged;
}

}  // namespace drift
