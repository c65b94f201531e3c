#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace drift {

/// The resolved configuration: one table a section; key, value, origin.
std::string html_settings(std::string_view config_toml);

/// An array of flat objects, one row each: the plugins.
/// @throws nlohmann::json::exception if it is something else.
std::string html_rows(const nlohmann::ordered_json& objects);

/// The members of an object except those that the page shows elsewhere: the facts of the run.
std::string html_facts(const nlohmann::ordered_json& summary);

}  // namespace drift
