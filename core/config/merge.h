#pragma once

#include <core/config/document.h>
#include <core/config/preset.h>
#include <core/config/schema.h>

#include <drift/registry.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A value that was written for one component and that the one chosen later does not take.
struct SetAside {
  std::string key;
  ConfigLeaf leaf;
  std::string reason;

  /// One line for people.
  std::string text() const;
};

/// A reason to set a value aside.
std::string missing_parameter(const ComponentEntry& component);

/// The layers of a document and the algorithm's preset below them, put together; not yet checked.
struct MergedConfig {
  std::map<std::string, ConfigLeaf> leaves;
  std::map<std::string, Origin> tables;
  std::optional<Preset> preset;  ///< of the algorithm
  std::vector<SetAside> set_aside;

  /// Null if nothing is written there.
  const ConfigLeaf* find(std::string_view key) const;
  /// The text written there; empty if there is none.
  std::string text(std::string_view key) const;
};

/// The component of a section and who chose it.
struct ChosenComponent {
  std::string name;  ///< empty: nobody
  Origin origin;
};
/// As written, or what follows from another section.
ChosenComponent chosen_component(const SectionSchema& section, const MergedConfig& merged, const Registry& registry);

/// See resolve_config for the rules. @throws ConfigError if the preset's file has mistakes
MergedConfig merge_layers(const ConfigDocument& document, const Registry& registry);

/// The entry with the declaration that what is written for it in a section leads to (with_declaration): in one that
/// names it, or that names nothing. As it is registered if nothing is written.
/// @throws Error
ComponentEntry declared_entry(const ComponentEntry& entry, const MergedConfig& merged);

}  // namespace drift
