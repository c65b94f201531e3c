#pragma once

// A sweep's TOML: a run's file with a [sweep] section that says what varies. docs/sweeps.md describes it.

#include <core/config/document.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// Settings of an axis value that hold only together with certain values of other axes.
struct SweepException {
  std::map<std::string, std::vector<std::string>> where;  ///< axis -> names of its values
  ConfigLayer settings;
};

/// One value of an axis: a bundle of files and settings under a name.
struct SweepValue {
  std::string name;
  std::vector<ExtendedFile> extends;
  ConfigLayer settings;
  std::vector<SweepException> exceptions;  ///< in the file's order, the later wins
};

struct SweepAxis {
  std::string name;  ///< of [[sweep.axis]], or the key of [sweep.grid]
  bool is_key = false;
  std::vector<SweepValue> values;  ///< at least one

  /// "k=4" for a key; the value alone where the axis has a name or the key is a component's.
  std::string label(std::size_t value) const;
};

/// What the table ranks the cells by.
enum class SweepMeasure {
  kHeldOut,  ///< held-out accuracy after the last step
  kReward,   ///< mean training reward over the last tenth of the steps
  kSolved,   ///< mean share of solved training responses over the last tenth of the steps
};

struct SweepFile {
  std::filesystem::path file;
  std::vector<ConfigOverride> overrides;  ///< the command line's, for every run
  std::string name;
  std::vector<std::int64_t> seeds;  ///< empty: the one that the files have
  SweepMeasure measure = SweepMeasure::kHeldOut;
  std::vector<SweepAxis> axes;  ///< the first varies slowest
  std::size_t compared = 0;     ///< the axis whose values are set side by side; axes.size() where there are none
  std::size_t baseline = 0;     ///< the value of that axis which the others are compared with
};

/// @throws ConfigError with every mistake of the [sweep] section, or with those of load_document
SweepFile read_sweep_file(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides);

}  // namespace drift
