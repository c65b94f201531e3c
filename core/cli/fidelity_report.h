#pragma once

#include <core/lab/fidelity/reference_study.h>
#include <core/lab/fidelity/study.h>
#include <core/report/text_table.h>

#include <string>
#include <vector>

namespace drift {

/// One line of `drift fidelity` beside the exact gradient.
struct ExactLine {
  std::string method;   ///< an algorithm, or its masking strategy and loss
  std::string decoder;  ///< that wrote the responses
  StudyRow row;

  double signal_per_forward() const { return row.fidelity.signal.value / row.forwards; }
  double signal_per_forward_error() const { return row.fidelity.signal.error / row.forwards; }
};

/// Likewise beside a reference of many views.
struct ReferenceLine {
  std::string method;
  ReferenceRow row;
};

/// As the terminal shows it.
TextTable shown_table(const std::vector<ExactLine>& lines);
TextTable shown_table(const std::vector<ReferenceLine>& lines);

/// What its marks mean; empty if it has none.
std::string table_note(const std::vector<ExactLine>& lines);
inline std::string table_note(const std::vector<ReferenceLine>&) { return {}; }

/// With every digit and every error, for CSV and JSON.
TextTable full_table(const std::vector<ExactLine>& lines);
TextTable full_table(const std::vector<ReferenceLine>& lines);

}  // namespace drift
