#pragma once

// From TOML++'s tree to the layers of a document.

#include <core/config/document.h>

#include <toml++/toml.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

std::vector<std::string> split_lines(const std::string& text);

/// @param name  of the file, for the places of its values
/// @throws toml::parse_error, also where keys or values are nested deeper than kDeepestNesting
toml::table parse_toml(std::string_view text, std::string_view name);

/// What TOML++ found wrong, without its own words on where.
std::string toml_syntax_message(const toml::parse_error& error);

/// A key as TOML writes it, so that points inside quotes do not look like sections.
std::string toml_key(std::string_view key);

TextSpan toml_span(const toml::source_region& region);

/// Where a key and its value stand in `file`.
Origin toml_origin(const std::filesystem::path& file, const toml::key& key, const toml::node& node);

/// Nothing where TOML holds what no parameter can be: a date, a list of numbers.
std::optional<Parameter::Value> toml_value(const toml::node& node);

/// One value as it was written. @param folder  what a relative path in it counts from
ConfigLeaf toml_leaf(const toml::node& node, Origin origin, const std::filesystem::path& folder);

using OriginOf = std::function<Origin(const toml::key&, const toml::node&)>;

/// Every value of a table by its dotted key.
ConfigLayer toml_layer(const toml::table& table, const OriginOf& origin_of, const std::filesystem::path& folder);
/// The same for a table of `file`.
ConfigLayer toml_layer(const toml::table& table, const std::filesystem::path& file);

}  // namespace drift
