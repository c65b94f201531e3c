#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Text of `drift help NAME` for a number of metrics.jsonl or another file of a run or an evaluation: its unit, range
/// and meaning in each file that has it. Empty if none has.
std::string metric_text(std::string_view name);

/// The same for programs: an object for each of the files.
nlohmann::ordered_json metric_json(std::string_view name);

/// Every name that metric_text() knows.
std::vector<std::string> metric_names();

/// `drift reference metrics`
std::string metrics_page();

}  // namespace drift
