#include <core/config/preset.h>

#include <core/config/nearest.h>
#include <core/config/run_config.h>
#include <core/config/toml_layer.h>

#include <algorithm>
#include <array>

namespace drift {
namespace {

/// What the algorithm itself says, or what is read before any preset.
bool is_not_for_presets(std::string_view key) {
  constexpr std::array<std::string_view, 4> named_by_algorithm = {"algorithm.name", "algorithm.preset",
                                                                  "algorithm.masking.name", "algorithm.loss.name"};
  return std::ranges::count(named_by_algorithm, key) > 0 || key == "plugins" || key.starts_with("plugins.");
}

class PresetReader {
 public:
  PresetReader(const Algorithm& algorithm, const AlgorithmPreset& preset)
      : algorithm_(algorithm), label_("preset " + preset.name + " of " + algorithm.name) {
    preset_.name = preset.name;
    add(preset);
  }

  Preset finish() {
    for (const auto& [key, origin] : note_origins_) {
      if (preset_.layer.leaves.contains(key)) continue;
      mistake(origin, origin.key, "a note on `" + key + "`, which the preset does not set").label =
          did_you_mean(key, keys());
    }
    if (!mistakes_.empty()) throw ConfigError(std::move(mistakes_));
    preset_.lines = std::move(document_.lines);
    return std::move(preset_);
  }

 private:
  Diagnostic& mistake(const Origin& origin, const TextSpan& span, const std::string& message) {
    return mistakes_.emplace_back(document_.at(origin, span, message));
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, leaf] : preset_.layer.leaves) keys.push_back(key);
    return keys;
  }

  Origin origin(const AlgorithmPreset& file, const TextSpan& key, const TextSpan& value) const {
    return {Origin::Kind::kPreset, label_, key, value, file.origin};
  }

  ConfigLayer layer_of(const toml::table& table, const AlgorithmPreset& file) const {
    const auto origin_of = [&](const toml::key& key, const toml::node& node) {
      return origin(file, toml_span(key.source()), toml_span(node.source()));
    };
    return toml_layer(table, origin_of, std::filesystem::current_path());
  }

  void add(const AlgorithmPreset& file) {
    open_.push_back(file.name);
    document_.lines[file.origin] = split_lines(file.text);
    try {
      add(parse_toml(file.text, file.origin), file);
    } catch (const toml::parse_error& error) {
      mistake(origin(file, {}, {}), toml_span(error.source()), toml_syntax_message(error));
    }
    open_.pop_back();
  }

  void add(toml::table&& table, const AlgorithmPreset& file) {
    add_extended(table, file);  // first: this file goes over it
    preset_.description = text(table, "description", file);
    if (preset_.description.empty()) {
      Diagnostic& wrong = mistake(origin(file, {}, {}), {1, 1, 1}, "a preset needs a description");
      wrong.notes = {"at its top, write: description = \"the values of the paper\""};
    }
    const ConfigLayer optional = subtable(table, "optional", file);
    const ConfigLayer notes = subtable(table, "notes", file);
    for (const char* own : {"description", "extends", "optional", "notes"}) table.erase(own);
    add_settings(layer_of(table, file));
    add_settings(optional);
    for (const auto& [key, leaf] : optional.leaves) preset_.optional.insert(key);
    add_notes(notes);
  }

  void add_extended(const toml::table& table, const AlgorithmPreset& file) {
    const std::string name = text(table, "extends", file);
    if (name.empty()) return;
    const toml::node& node = *table.get("extends");
    const auto wrong = [&](const std::string& message) -> Diagnostic& {
      return mistake(origin(file, {}, {}), toml_span(node.source()), message);
    };
    if (std::ranges::count(open_, name) > 0) {
      wrong("preset `" + name + "` extends itself").notes = {"the cycle: " + joined(open_) + ", " + name};
      return;
    }
    const auto found = std::ranges::find(algorithm_.presets, name, &AlgorithmPreset::name);
    if (found != algorithm_.presets.end()) return add(*found);
    std::vector<std::string> names;
    for (const AlgorithmPreset& known : algorithm_.presets) names.push_back(known.name);
    Diagnostic& unknown = wrong("`extends` names `" + name + "`, which is not a preset of `" + algorithm_.name + "`");
    unknown.label = did_you_mean(name, names);
    unknown.notes = {"presets of `" + algorithm_.name + "`: " + joined(names)};
  }

  /// The text at the top of the file; empty if there is none, or (reported) something else.
  std::string text(const toml::table& table, const char* key, const AlgorithmPreset& file) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    if (const auto* value = node->as_string(); value != nullptr && !value->get().empty()) return value->get();
    mistake(origin(file, {}, {}), toml_span(node->source()),
            "`" + std::string(key) + "` must be a text in quotes, not an empty one");
    return {};
  }

  ConfigLayer subtable(const toml::table& table, const char* key, const AlgorithmPreset& file) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    if (const toml::table* own = node->as_table()) return layer_of(*own, file);
    Diagnostic& wrong = mistake(origin(file, {}, {}), toml_span(node->source()),
                                "`" + std::string(key) + "` is a section of a preset, not a value");
    wrong.label = "write [" + std::string(key) + "] and keys of the run's TOML below";
    return {};
  }

  void add_settings(const ConfigLayer& layer) {
    for (const auto& [key, leaf] : layer.leaves) {
      if (is_not_for_presets(key)) {
        mistake(leaf.origin, leaf.origin.key, "a preset cannot set `" + key + "`").notes = {
            "the algorithm names masking strategy and loss; the run's file names the rest"};
        continue;
      }
      preset_.layer.leaves.insert_or_assign(key, leaf);
      preset_.optional.erase(key);
      preset_.notes.erase(key);
      note_origins_.erase(key);
    }
    for (const auto& [table, origin] : layer.tables) preset_.layer.tables.insert_or_assign(table, origin);
  }

  void add_notes(const ConfigLayer& notes) {
    for (const auto& [key, leaf] : notes.leaves) {
      const auto* text = leaf.value ? std::get_if<std::string>(&*leaf.value) : nullptr;
      if (text == nullptr) {
        mistake(leaf.origin, leaf.origin.value, "the note on `" + key + "` must be a text in quotes");
        continue;
      }
      preset_.notes[key] = *text;
      note_origins_.insert_or_assign(key, leaf.origin);
    }
  }

  const Algorithm& algorithm_;
  const std::string label_;
  ConfigDocument document_;        // holds the lines
  std::vector<std::string> open_;  // presets that are being read, each for the one before it
  std::map<std::string, Origin> note_origins_;
  std::vector<Diagnostic> mistakes_;
  Preset preset_;
};

}  // namespace

const AlgorithmPreset* preset_in_force(const Algorithm& algorithm, std::string_view name) {
  for (const AlgorithmPreset& preset : algorithm.presets) {
    if (name.empty() || preset.name == name) return &preset;
  }
  return nullptr;
}

Preset read_preset(const Algorithm& algorithm, const AlgorithmPreset& preset) {
  return PresetReader(algorithm, preset).finish();
}

std::vector<Diagnostic> preset_mistakes(const Algorithm& algorithm, const AlgorithmPreset& preset,
                                        const Registry& registry, const std::vector<ConfigOverride>& run) {
  std::vector<ConfigOverride> settings = run;
  settings.push_back({"algorithm " + algorithm.name, "algorithm.name", algorithm.name, /*literal=*/true});
  settings.push_back({"preset " + preset.name, "algorithm.preset", preset.name, /*literal=*/true});
  std::vector<Diagnostic> mistakes;
  try {
    resolve_config(load_document({}, settings), registry, ConfigPurpose::kTrain);
  } catch (const ConfigError& error) {
    mistakes = error.diagnostics();
  }
  // Such a run lacks more, a model or a task. That is not the preset's mistake.
  std::erase_if(mistakes, [&](const Diagnostic& mistake) {
    return std::ranges::count(algorithm.presets, mistake.file, &AlgorithmPreset::origin) == 0;
  });
  return mistakes;
}

}  // namespace drift
