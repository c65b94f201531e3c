#pragma once

#include <core/import/import_table.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// One value for the run's TOML.
struct ImportedValue {
  std::string key;  ///< "train.group_size"; "extends": one file
  ParamValue value;
  std::string origin;  ///< "train.yaml:12 num_generations"
  std::string remark;  ///< may be empty
};

/// Something of theirs that is not in the TOML.
struct LeftOut {
  std::string what;  ///< "train.yaml:31 bf16 = true"
  std::string why;   ///< empty: nothing is known of the key
};

struct ImportedRun {
  std::vector<ImportedValue> values;
  std::vector<LeftOut> left_out;
  std::vector<LeftOut> unknown;
  std::vector<std::string> needed;  ///< what no key of theirs said, and a run cannot do without
  std::vector<std::string> remarks;
};

/// @param devices  on which their program ran; none: what the settings or the table say
/// @throws Error where a table gives a key two values
ImportedRun import_run(const ImportTable& table, const ForeignSettings& settings,
                       std::optional<std::int64_t> devices = std::nullopt);

/// The run's TOML: every value with its origin, then what was left out.
/// @param command  that made it
std::string toml_of(const ImportedRun& run, const ImportTable& table, const ForeignSettings& settings,
                    const std::string& command);

}  // namespace drift
