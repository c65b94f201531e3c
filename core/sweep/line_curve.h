#pragma once

// A measure of a line's runs over their steps: the mean over the seeds, with a band.

#include <core/record/estimate.h>
#include <core/sweep/run_lines.h>

#include <cstdint>
#include <functional>
#include <limits>
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

/// Half of a band's height; unknown of a single seed.
double half_band(const Estimate& mean, Band band);

/// Something that steps tell.
struct Quantity {
  std::string name;  ///< of its files: "held_out_accuracy"
  std::string title;
  std::string unit = {};
  std::function<double(const StepRecord&)> value;
  bool noisy = false;                                       ///< every run is drawn as its moving mean
  bool points = false;                                      ///< known at a few steps
  double least = -std::numeric_limits<double>::infinity();  ///< no value, and so no band, is beyond
  double most = std::numeric_limits<double>::infinity();
};

/// One step at which some runs of the line know the measure.
struct CurvePoint {
  std::int64_t step = 0;
  Estimate value;  ///< over these runs
  RunCost cost;    ///< their mean
};

using LineCurve = std::vector<CurvePoint>;

LineCurve curve_of(const RunLine& line, const Quantity& quantity);

}  // namespace drift
