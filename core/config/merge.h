#pragma once

#include <core/config/document.h>
#include <core/config/preset.h>

#include <drift/registry.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The layers of a document and the algorithm's preset below them, put together; not yet checked.
struct MergedConfig {
  std::map<std::string, ConfigLeaf> leaves;
  std::map<std::string, Origin> tables;
  std::optional<Preset> preset;        ///< of the algorithm
  std::vector<std::string> set_aside;  ///< for people, one line each

  /// Null if nothing is written there.
  const ConfigLeaf* find(std::string_view key) const;
  /// The text written there; empty if there is none.
  std::string text(std::string_view key) const;
};

/// See resolve_config for the rules. @throws ConfigError if the preset's file has mistakes
MergedConfig merge_layers(const ConfigDocument& document, const Registry& registry);

}  // namespace drift
