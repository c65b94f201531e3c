#pragma once

#include <core/config/document.h>

#include <drift/registry.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The layers of a document and the algorithm's preset below them, put together; not yet checked.
struct MergedConfig {
  std::map<std::string, ConfigLeaf> leaves;
  std::map<std::string, Origin> tables;
  std::vector<std::string> set_aside;  ///< for people, one line each

  /// Null if nothing is written there.
  const ConfigLeaf* find(std::string_view key) const;
  /// The text written there; empty if there is none.
  std::string text(std::string_view key) const;
};

/// See resolve_config for the rules.
MergedConfig merge_layers(const ConfigDocument& document, const Registry& registry);

/// The preset that is in force: the one that is named, else the first. Null if there is none of that name.
const BundlePreset* preset_in_force(const Bundle& bundle, std::string_view name);

}  // namespace drift
