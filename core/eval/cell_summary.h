#pragma once

// What the records of a cell come to.

#include <core/base/unknown.h>
#include <core/eval/cell.h>
#include <core/eval/response_record.h>
#include <core/record/significance.h>
#include <core/report/text_table.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

struct CellSummary {
  EvaluationCell cell;
  std::int64_t wanted = 0;                ///< responses of the whole cell
  std::int64_t answered = 0;              ///< that are there
  std::int64_t unjudged = 0;              ///< of those, could not be judged; they count nowhere in accuracy
  std::int64_t items = 0;                 ///< with a judged response
  double accuracy = kUnknown;             ///< mean over items of the share of their judged responses that are solved
  double standard_error = kUnknown;       ///< one sample an item: binomial; several: of the mean over items
  Interval interval{kUnknown, kUnknown};  ///< Wilson, 95 %, with the items as trials
  std::int64_t samples = 1;               ///< k, responses to an item
  double pass = kUnknown;                 ///< pass@k: share of the items of which a response is solved
  double majority = kUnknown;             ///< maj@k: share of the items whose most frequent answer is solved
  double value = kUnknown;                ///< mean reward, as accuracy
  double tokens_per_second = kUnknown;
  double forwards = kUnknown;   ///< a response, as the two below
  double tokens = kUnknown;     ///< written, without the end token
  double truncated = kUnknown;  ///< share without an end token
  double seconds = kUnknown;    ///< of writing

  bool complete() const { return answered == wanted && unjudged == 0; }
};

/// @param records  of the cell, in the order of their numbers; those past `wanted` do not count
CellSummary summarise(const EvaluationCell& cell, const std::vector<ResponseRecord>& records, std::int64_t wanted);

/// "71.4 % ± 1.2  1,319 items  4:05"
std::string result_line(const CellSummary& summary, bool unicode);

/// A row for every cell, for people.
TextTable summary_table(const std::vector<CellSummary>& cells);
/// The same with all digits, shares as such.
TextTable summary_numbers(const std::vector<CellSummary>& cells);

}  // namespace drift
