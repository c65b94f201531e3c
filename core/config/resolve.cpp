#include <core/base/component_host.h>
#include <core/config/nearest.h>
#include <core/config/resolve.h>
#include <core/io/file_error.h>

#include <drift/error.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <tuple>

namespace drift {
namespace {

std::string article_and_type(const Parameter::Value& declared) {
  static const char* names[] = {"true or false",   "an integer",         "a number",         "a text in quotes",
                                "a list of texts", "a list of integers", "a list of numbers"};
  return names[declared.index()];
}

std::string found_type(const ConfigLeaf& leaf) {
  if (!leaf.value) return leaf.found;
  static const char* names[] = {"true or false",   "an integer",         "a number with a point", "a text",
                                "a list of texts", "a list of integers", "a list of numbers"};
  return std::holds_alternative<bool>(*leaf.value) ? to_toml(*leaf.value) : names[leaf.value->index()];
}

/// "`k`: steps per response; integer, >= 1, default 4"
std::string describe(const Parameter& spec) {
  const std::string range = spec.allowed.describe();
  return "`" + spec.name + "`: " + spec.doc + "; " + type_name(spec.default_value) +
         (range.empty() ? "" : ", " + range) + ", default " + to_toml(spec.default_value);
}

std::string plural(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::kMaskingStrategy: return "masking strategies";
    case ComponentKind::kLossEstimator: return "losses";
    default: return std::string(kind_name(kind)) + "s";
  }
}

}  // namespace

/// Fills a RunConfig section by section and collects every mistake on the way.
class Resolver {
 public:
  Resolver(const ConfigDocument& document, const Registry& registry, ConfigPurpose purpose)
      : document_(document), registry_(registry), purpose_(purpose), merged_(merge_layers(document, registry)) {
    if (merged_.preset) document_.lines.insert(merged_.preset->lines.begin(), merged_.preset->lines.end());
  }

  RunConfig run() {
    mistakes_ = find_misplaced(document_, merged_);
    for (const SectionSchema& schema : config_sections()) {
      if (schema.is_family) {
        for (const SectionSchema& member : members(schema)) resolve(member);
      } else if (schema.needed(purpose_) || merged_.tables.contains(schema.name)) {
        resolve(schema);
      }
    }
    if (find_section("model")->needed(purpose_)) check_checkpoint();
    if (!mistakes_.empty()) {
      std::stable_sort(mistakes_.begin(), mistakes_.end(), [](const Diagnostic& a, const Diagnostic& b) {
        return std::tie(a.file, a.span.line) < std::tie(b.file, b.span.line);
      });
      throw ConfigError(std::move(mistakes_));
    }
    config_.notes_ = run_notes(merged_, config_, document_.file);
    return std::move(config_);
  }

 private:
  /// The sections of a family that the document has.
  std::vector<SectionSchema> members(const SectionSchema& family) const {
    std::vector<SectionSchema> found;
    for (const auto& [table, origin] : merged_.tables) {
      const SectionSchema* schema = find_section(table);
      if (schema == nullptr || schema->name != family.name) continue;
      found.push_back(family);
      found.back().name = table;
    }
    return found;
  }

  Diagnostic& mistake(const Origin& origin, const TextSpan& span, const std::string& message) {
    return mistakes_.emplace_back(document_.at(origin, span, message));
  }

  void resolve(const SectionSchema& schema) {
    std::vector<Parameter> specs;
    ResolvedSection section{schema.name, {}, {}};
    const auto resolve_all = [&](std::span<const Parameter> further) {
      for (const Parameter& spec : further) {
        specs.push_back(spec);
        section.values.push_back(resolve(spec, schema.name));
      }
    };
    resolve_all(schema.keys);
    std::optional<ComponentEntry> component;
    ResolvedValue chosen;
    if (schema.component) {
      const auto [name, origin] = chosen_component(schema, merged_, registry_);
      chosen = {"name", name, origin, false, {}};
      if (const auto* registered = registry_.find(*schema.component, text(chosen))) {
        resolve_all(registered->params);
        component = declared(*registered, section, chosen);
        if (component) {
          refuse_core_keys(*component, schema);
          resolve_all(std::span<const Parameter>(component->params).subspan(registered->params.size()));
        }
      } else {
        report_missing(schema, chosen);
      }
    }
    const bool complete = !schema.component || component;
    if (schema.component) section.values.front() = chosen;
    for (ResolvedValue& value : section.values) value.effect = schema.effect_of(value.name);
    for (const auto& [key, leaf] : merged_.leaves) {
      if (section_of(key) == schema.name && complete)
        check_known(key, leaf, schema, component ? &*component : nullptr, specs);
    }
    if (schema.name == "run") name_run(section.values.front());
    if (schema.name == "algorithm") check_algorithm(section);
    if (schema.name == "evaluation.rollout") take_over_rollout(section, specs);
    if (schema.name == "algorithm.loss" && purpose_ == ConfigPurpose::kTrain) equalise_parts(section);
    if (complete && mistakes_.empty()) {
      std::map<std::string, Parameter::Value> values;
      for (const ResolvedValue& value : section.values) values[value.name] = value.value;
      section.params = Parameters(specs, values);
    }
    if (complete) config_.sections_.push_back(std::move(section));
  }

  /// The loss's section comes before that of the group's size.
  void equalise_parts(ResolvedSection& loss) {
    const ConfigLeaf* written = merged_.find("train.group_size");
    const Parameter& declared = *std::ranges::find(find_section("train")->keys, "group_size", &Parameter::name);
    const Parameter::Value group = written != nullptr && written->value ? *written->value : declared.default_value;
    const auto* size = std::get_if<std::int64_t>(&group);
    ResolvedValue* part = size != nullptr && *size > 0 ? unequal_parts(loss, *size) : nullptr;
    const ConfigLeaf* own = merged_.find("algorithm.loss.micro_batch");
    const bool repeats_a_run = own != nullptr && !own->former_folder.empty();  // of an earlier version
    if (part == nullptr || repeats_a_run) return;
    if (own == nullptr || own->origin.kind == Origin::Kind::kPreset) return make_equal(*part, *size);
    mistake(part->origin, part->origin.value,
            "`algorithm.loss.micro_batch` = " + to_toml(part->value) + " does not divide train.group_size = " +
                std::to_string(*size) + ": the rest of a group would count as much as a whole part")
        .notes = {"values that fit: " + divisors_of(*size) + ", or 0 for what the loss does without parts"};
  }

  static std::string text(const ResolvedValue& value) {
    const auto* text = std::get_if<std::string>(&value.value);
    return text == nullptr ? "" : *text;
  }

  /// With the parameters that the values of its registered ones lead to; nothing if they lead to none, which is a
  /// mistake.
  std::optional<ComponentEntry> declared(const ComponentEntry& component, const ResolvedSection& section,
                                         const ResolvedValue& chosen) {
    std::map<std::string, Parameter::Value> values;
    Origin place = chosen.origin;
    for (const Parameter& spec : component.params) {
      const auto& value = *std::ranges::find(section.values, spec.name, &ResolvedValue::name);
      values[spec.name] = value.value;
      if (value.origin.kind != Origin::Kind::kDefault) place = value.origin;
    }
    try {
      return with_declaration(component, values);
    } catch (const Error& error) {
      const std::string what = error.what();  // its first line says it, others say where it comes from
      const auto line = what.find('\n');
      Diagnostic& wrong = mistake(place, place.value, what.substr(0, line));
      if (line != std::string::npos) wrong.notes.push_back(what.substr(line + 1));
      if (!error.hint().empty()) wrong.notes.push_back(error.hint());
      return std::nullopt;
    }
  }

  static void refuse_core_keys(const ComponentEntry& component, const SectionSchema& schema) {
    for (const Parameter& spec : component.params) {
      if (std::ranges::count(schema.keys, spec.name, &Parameter::name) == 0) continue;
      throw Error("the " + std::string(kind_name(component.kind)) + " `" + component.name + "` declares a parameter `" +
                      spec.name + "`, which every [" + schema.name + "] already has",
                  "give the parameter another name in plugin `" + component.plugin + "`");
    }
  }

  void report_missing(const SectionSchema& schema, const ResolvedValue& chosen) {
    const std::string name = text(chosen);
    const std::string kind(kind_name(*schema.component));
    std::vector<std::string> names;
    for (const ComponentEntry& entry : registry_.components()) {
      if (entry.kind == *schema.component) names.push_back(entry.name);
    }
    const std::string list = names.empty()
                                 ? "no plugin provides a " + kind + "    (drift plugin list)"
                                 : plural(*schema.component) + ": " + joined(names) + "    (drift plugin list)";
    if (!name.empty()) {
      if (schema.name == "evaluation.rollout" && chosen.origin.kind == Origin::Kind::kDerived)
        return;  // said at [rollout]
      const Origin place =
          chosen.origin.kind == Origin::Kind::kDerived ? merged_.find("algorithm.name")->origin : chosen.origin;
      Diagnostic& wrong = mistake(place, place.value, "unknown " + kind + " `" + name + "`");
      wrong.label =
          chosen.origin.kind == Origin::Kind::kDerived ? "this algorithm needs it" : did_you_mean(name, names);
      wrong.notes = {list};
      return;
    }
    const bool follows = schema.name.starts_with("algorithm.") || schema.name == "evaluation.rollout";
    if (schema.name == "model" && checkpoint_missing()) return;  // it would have said what it is
    if ((!schema.needed(purpose_) && !schema.is_family) || follows || merged_.find(schema.name + ".name") != nullptr)
      return;  // reported elsewhere
    Diagnostic& wrong = mistakes_.emplace_back();
    wrong.message = "no " + kind + " is named";
    wrong.file = document_.file;
    wrong.notes = {"name it: [" + schema.name + "] name = \"" + (names.empty() ? "…" : names.front()) + "\"", list};
    if (schema.name == "model" && !checkpoint().empty())
      wrong.notes.push_back((checkpoint() / "config.json").string() + " has no `model_type` that is one of them");
  }

  ResolvedValue resolve(const Parameter& spec, const std::string& section) {
    ResolvedValue resolved{spec.name, spec.default_value, {}, spec.is_path, {}};
    const std::string key = section + "." + spec.name;
    const ConfigLeaf* leaf = merged_.find(key);
    if (leaf == nullptr) return resolved;
    resolved.origin = leaf->origin;
    auto accepted = leaf->value ? spec.as_declared(*leaf->value) : std::nullopt;
    if (!accepted) {
      report_type(spec, key, *leaf);
      return resolved;
    }
    resolved.value = std::move(*accepted);
    if (const std::string wrong = spec.violation(resolved.value); !wrong.empty()) {
      Diagnostic& out = mistake(leaf->origin, leaf->origin.value, "`" + key + "` " + wrong);
      const auto* text = std::get_if<std::string>(&resolved.value);
      out.label = text == nullptr ? "" : did_you_mean(*text, spec.allowed.choices);
      out.notes = {describe(spec)};
    }
    if (spec.is_path) leaf->make_absolute(resolved.value);
    return resolved;
  }

  void report_type(const Parameter& spec, const std::string& key, const ConfigLeaf& leaf) {
    Diagnostic& wrong =
        mistake(leaf.origin, leaf.origin.value, "`" + key + "` must be " + article_and_type(spec.default_value));
    wrong.label = "this is " + found_type(leaf);
    wrong.notes = {describe(spec)};
  }

  void check_known(const std::string& key, const ConfigLeaf& leaf, const SectionSchema& schema,
                   const ComponentEntry* component, const std::vector<Parameter>& specs) {
    const std::string name(name_of(key));
    const std::vector<std::string> known = names_of(specs);
    if (std::ranges::count(known, name) > 0 || (component != nullptr && leaf.optional)) return;
    if (component != nullptr && may_lack(key, leaf, *component)) {
      merged_.set_aside.push_back({key, leaf, missing_parameter(*component)});
      return;
    }
    if (find_section(key) != nullptr) {
      mistake(leaf.origin, leaf.origin.key, "`" + key + "` is a section, not a value").label =
          "write [" + key + "] and its values below";
      return;
    }
    const bool own = component != nullptr;
    Diagnostic& wrong = mistake(leaf.origin, leaf.origin.key,
                                own ? "unknown parameter `" + name + "` of " + std::string(kind_name(component->kind)) +
                                          " `" + component->name + "`"
                                    : "unknown key `" + name + "` in [" + schema.name + "]");
    wrong.label = did_you_mean(name, known);
    if (wrong.label.empty()) wrong.label = home_of_key(name);
    if (!own) {
      wrong.notes = {"keys of [" + schema.name + "]: " + joined(known)};
      return;
    }
    const std::string declared = joined(names_of(component->params));
    wrong.notes = {(declared.empty() ? "`" + component->name + "` has no parameters"
                                     : "parameters of `" + component->name + "`: " + declared) +
                   "    (drift plugin info " + component->name + ")"};
    if (schema.keys.size() > 1)
      wrong.notes.push_back("keys of every [" + schema.name + "]: " + joined(names_of(schema.keys)));
  }

  /// A preset is written for one rollout and meets others. What it sets for those is not a mistake, if it is marked as
  /// optional or another one has it. Its masking strategy and loss are named by the algorithm.
  bool may_lack(const std::string& key, const ConfigLeaf& leaf, const ComponentEntry& component) const {
    if (leaf.origin.kind != Origin::Kind::kPreset) return false;
    if (merged_.preset->optional.contains(key)) return true;
    return !key.starts_with("algorithm.") && std::ranges::any_of(registry_.components(), [&](const auto& other) {
      return other.kind == component.kind && std::ranges::count(other.params, name_of(key), &Parameter::name) > 0;
    });
  }

  void name_run(ResolvedValue& name) {
    if (text(name).empty()) {
      const std::string stem = std::filesystem::path(document_.file).stem().string();
      name.value = stem.empty() ? "run" : stem;
      name.origin = {Origin::Kind::kDerived, "the file's name", {}, {}};
    }
    if (!is_plain_name(text(name))) {
      mistake(name.origin, name.origin.value, "`run.name` must be a plain folder name").notes = {
          "the run's folder is runs/NAME; --out chooses another"};
    }
  }

  void check_algorithm(ResolvedSection& section) {
    ResolvedValue& name = section.values[0];
    ResolvedValue& preset = section.values[1];
    std::vector<std::string> names;
    for (const Algorithm& algorithm : registry_.algorithms()) names.push_back(algorithm.name);
    const std::string list = names.empty() ? "no plugin provides an algorithm    (drift plugin list)"
                                           : "algorithms: " + joined(names) + "    (drift plugin list)";
    const Algorithm* algorithm = registry_.find_algorithm(text(name));
    if (algorithm == nullptr && !text(name).empty()) {
      Diagnostic& wrong = mistake(name.origin, name.origin.value, "unknown algorithm `" + text(name) + "`");
      wrong.label = did_you_mean(text(name), names);
      wrong.notes = {list};
    } else if (algorithm == nullptr && purpose_ == ConfigPurpose::kTrain && merged_.find("algorithm.name") == nullptr) {
      Diagnostic& wrong = mistakes_.emplace_back();
      wrong.message = "no algorithm is named";
      wrong.file = document_.file;
      wrong.notes = {
          "name it: [algorithm] name = \"" + (names.empty() ? "…" : names.front()) + "\", or --algorithm NAME", list};
    }
    if (algorithm == nullptr) return;
    if (preset_in_force(*algorithm, text(preset)) == nullptr && !text(preset).empty()) {
      std::vector<std::string> presets;
      for (const AlgorithmPreset& known : algorithm->presets) presets.push_back(known.name);
      Diagnostic& wrong = mistake(preset.origin, preset.origin.value,
                                  "unknown preset `" + text(preset) + "` of algorithm `" + algorithm->name + "`");
      wrong.label = did_you_mean(text(preset), presets);
      wrong.notes = {"presets of `" + algorithm->name + "`: " + joined(presets) + "    (drift plugin info " +
                     algorithm->name + ")"};
    }
    if (text(preset).empty() && !algorithm->presets.empty()) preset.value = algorithm->presets.front().name;
  }

  /// [evaluation.rollout] starts from [rollout]: wholly, or where it chooses another component, from what was written.
  void take_over_rollout(ResolvedSection& evaluation, const std::vector<Parameter>& specs) const {
    const auto rollout = std::ranges::find(config_.sections_, "rollout", &ResolvedSection::name);
    if (rollout == config_.sections_.end()) return;
    const bool same = text(rollout->values.front()) == text(evaluation.values.front());
    for (std::size_t i = 1; i < evaluation.values.size(); ++i) {
      ResolvedValue& value = evaluation.values[i];
      const auto from = std::ranges::find(rollout->values, value.name, &ResolvedValue::name);
      if (value.origin.kind != Origin::Kind::kDefault || from == rollout->values.end()) continue;
      if (!same && from->origin.kind == Origin::Kind::kDefault) continue;
      const auto taken = specs[i].as_declared(from->value);
      if (!taken || !specs[i].violation(*taken).empty()) continue;
      value.value = *taken;
      value.origin = {Origin::Kind::kDerived, "as in [rollout]", {}, {}};
    }
  }

  /// The checkpoint's folder as the document names it; empty if it names none.
  std::filesystem::path checkpoint() const {
    const ConfigLeaf* leaf = merged_.find("model.path");
    const std::string path = merged_.text("model.path");
    return path.empty() ? std::filesystem::path() : leaf->place_of(path);
  }

  bool checkpoint_missing() const {
    std::error_code ignored;
    return !checkpoint().empty() && !std::filesystem::exists(checkpoint() / "config.json", ignored);
  }

  /// Of a folder that is no checkpoint of a model.
  static std::string what_is_there(const std::filesystem::path& folder) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / "adapter_config.json", ignored))
      return "that is an adapter: name the model that it was trained on, and --adapter " + folder.string();
    const auto last = folder / "checkpoints" / "last";
    if (std::filesystem::exists(last, ignored))
      return "that is the folder of a run: its last checkpoint is " + last.string();
    return "a checkpoint is a folder in the Hugging Face layout: config.json, safetensors, tokenizer files";
  }

  void check_checkpoint() {
    const std::string start = merged_.text("model.initialize");
    if (!start.empty() && start != "checkpoint") return;
    if (checkpoint_missing()) {
      const Origin& origin = merged_.find("model.path")->origin;
      std::string lost = lost_link(checkpoint());
      if (lost.empty()) lost = lost_link(checkpoint() / "config.json");
      mistake(origin, origin.value,
              "no checkpoint at `" + merged_.text("model.path") + "`" + (lost.empty() ? "" : ": " + lost))
          .notes = {lost.empty() ? what_is_there(checkpoint()) : kLostLinkAdvice};
    } else if (checkpoint().empty() && mistakes_.empty()) {
      Diagnostic& wrong = mistakes_.emplace_back();
      wrong.message = "no checkpoint is named";
      wrong.file = document_.file;
      wrong.notes = {
          "name it: [model] path = \"FOLDER\", or --model FOLDER; or start from random weights: initialize = "
          "\"random\""};
    }
  }

  ConfigDocument document_;  // its own: the preset's lines come to those of the files
  const Registry& registry_;
  ConfigPurpose purpose_;
  MergedConfig merged_;
  RunConfig config_;
  std::vector<Diagnostic> mistakes_;
};

RunConfig resolve_config(const ConfigDocument& document, const Registry& registry, ConfigPurpose purpose) {
  return Resolver(document, registry, purpose).run();
}

}  // namespace drift
