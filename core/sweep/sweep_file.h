#pragma once

// A sweep's TOML: a run's file with a [sweep] section that says what varies. docs/evaluation.md describes it.

#include <core/sweep/grid.h>
#include <core/sweep/run_record.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace drift {

struct SweepFile : Grid {
  std::vector<std::int64_t> seeds;           ///< empty: the one that the files have
  SweepMeasure measure = kSweepMeasures[0];  ///< what the table ranks the cells by
  std::size_t compared = 0;  ///< the axis whose values are set side by side; axes.size() where there are none
  std::size_t baseline = 0;  ///< the value of that axis which the others are compared with
};

/// @throws ConfigError with every mistake of the [sweep] section, or with those of load_document
SweepFile read_sweep_file(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides);

}  // namespace drift
