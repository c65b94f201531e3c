#pragma once

#include <drift/params.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// Settings of a published decoder, in this program's words.
struct OriginalSettings {
  std::string rollout;                               ///< the component
  std::map<std::string, Parameter::Value> settings;  ///< of it: keys of [rollout]
  bool takes_mask =
      false;  ///< padding that its caller does not mask is attended to; else it treats padding as it likes
  std::optional<std::int64_t> mask_id, pad_id;  ///< what it took for these tokens
  std::optional<std::int64_t> forwards;         ///< `nfe`, the forwards that it made
};

/// The published decoders that are known by name: each folder of plugins may have a file originals.toml.
class Originals {
 public:
  /// Folders without that file are passed over. @throws Error if a file is not as it should be
  explicit Originals(const std::vector<std::filesystem::path>& folders);
  ~Originals();

  std::vector<std::string> names() const;

  /// @throws Error with the nearest name if none is called so
  void require(const std::string& name) const { find(name); }

  /// @param settings  the original's options by its own names, with mask_id, pad_id and nfe if they are known. Or a
  ///                  case that holds such an object as `settings`, beside `nfe`, `algorithm` and more
  /// @param where     their file, for messages
  /// @throws Error naming what is not known, with the nearest name, or what cannot be
  OriginalSettings translate(const std::string& name, const nlohmann::json& settings, const std::string& where) const;

 private:
  struct Original;
  const Original& find(const std::string& name) const;
  std::vector<std::unique_ptr<Original>> originals_;
};

}  // namespace drift
