#pragma once

// The parts of a run's report, as HTML.

#include <core/record/alarms.h>
#include <core/record/step_record.h>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// A chart for every quantity that the steps have, one <figure> after the other. Empty without a step. `summary` gives
/// the evaluation before the first step. An alarm is a mark in the chart of its metric.
std::string html_curves(const std::vector<StepRecord>& steps, const nlohmann::ordered_json& summary,
                        const std::vector<Alarm>& alarms);

/// An array of flat objects, one row each: the plugins.
/// @throws nlohmann::json::exception if it is something else.
std::string html_rows(const nlohmann::ordered_json& objects);

/// The members of an object except those that the page shows elsewhere: the facts of the run.
std::string html_facts(const nlohmann::ordered_json& summary);

/// The part of a report in which the groups of some training steps are clicked through, token by token.
struct HtmlInspector {
  std::string body;  ///< HTML; empty: the run has inspected no step
  std::string note;  ///< which steps
};

/// Of the files `step-NNNNNN.json` in a run's folder `inspect` (docs/runs.md). A page holds some megabytes of them at
/// most: of more steps, some evenly between the first and the last.
/// @throws Error that names a file that is no JSON
HtmlInspector html_inspector(const std::filesystem::path& folder);

}  // namespace drift
