#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace drift {

/// An array of flat objects, one row each: the plugins.
/// @throws nlohmann::json::exception if it is something else.
std::string html_rows(const nlohmann::ordered_json& objects);

/// The members of an object except those that the page shows elsewhere: the facts of the run.
std::string html_facts(const nlohmann::ordered_json& summary);

}  // namespace drift
