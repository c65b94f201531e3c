#pragma once

#include <drift/params.h>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
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
  /// Of each row, or of all alike: those for the prompt's keys, those that may commit, those that keep a block's keys.
  /// Empty: not known.
  std::vector<std::array<std::int64_t, 3>> forwards_by_kind;
  std::map<std::string, Parameter::Value> model;  ///< keys of [model]
  bool counts_denoising = false;                  ///< `nfe` is of forwards that may commit alone
  bool ends_early = false;                        ///< its responses may be shorter than it was asked for
  bool draws_most_probable = false;               ///< the trace has the most probable token in the place of each draw
};

/// A published decoder.
class Original {
 public:
  /// @param file  JSON, as tests/golden/data/originals.json, whose `note` says what it holds
  /// @throws Error if it cannot be read, or with the nearest name if none there is called so
  Original(const std::filesystem::path& file, const std::string& name);

  /// @param given  the original's options by its own names, with mask_id, pad_id, nfe and draw if they are known. Or a
  /// case
  ///               that holds such an object as `settings`, beside `nfe`, `algorithm` and more
  /// @param where  their file, for messages
  /// @throws Error naming what is not known, with the nearest name, or what cannot be
  OriginalSettings translate(const nlohmann::json& given, const std::string& where) const;

 private:
  std::string file_, name_;
  nlohmann::json described_;
};

}  // namespace drift
