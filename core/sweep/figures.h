#pragma once

// The figures of a comparison: what is measured over steps, and over what the steps have cost.

#include <core/report/chart.h>
#include <core/report/text_table.h>
#include <core/sweep/run_lines.h>

#include <string>
#include <vector>

namespace drift {

/// What a band around a mean over seeds shows.
enum class Band {
  kError,     ///< the mean's standard error, to both sides
  kInterval,  ///< Student's 95 % interval of the mean
};

/// "the standard error of the mean over the seeds"
std::string band_text(Band band);

struct Figure {
  std::string name;  ///< of its files: "reward_by_seconds"
  Chart chart;
  TextTable data;  ///< what is drawn, with all digits: a row for every line and point
};

/// A figure for every quantity that a line knows, over the steps.
std::vector<Figure> step_figures(const std::vector<RunLine>& lines, Band band);

/// What training is for, held-out accuracy and reward, over the forwards and the seconds of the run so far.
std::vector<Figure> cost_figures(const std::vector<RunLine>& lines, Band band);

}  // namespace drift
