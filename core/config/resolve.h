#pragma once

// What resolve_config() consists of, besides the sections themselves.

#include <core/config/merge.h>
#include <core/config/run_config.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Mistakes of place: sections that do not exist, and values outside any section.
std::vector<Diagnostic> find_misplaced(const ConfigDocument& document, const MergedConfig& merged);

/// "it belongs to [train]" for a key of the core's sections; empty if it is none.
std::string home_of_key(std::string_view name);

std::vector<std::string> names_of(const std::vector<Parameter>& specs);

/// The size of the parts that a loss averages: `micro_batch` neighbouring responses first, then these means. Where it
/// does not divide the group, a remainder of fewer responses counts as much as a whole part.
/// @return null if the loss has no such parts, or their size divides the group
ResolvedValue* unequal_parts(ResolvedSection& loss, std::int64_t group_size);
/// Make it the largest divisor of the group up to what it is; its origin says so.
void make_equal(ResolvedValue& part, std::int64_t group_size);
/// "1, 2, 4, 8"
std::string divisors_of(std::int64_t group_size);

/// See RunConfig::notes.
/// @param file  the one that the user named
std::vector<RunNote> run_notes(const MergedConfig& merged, const RunConfig& config, const std::string& file);

}  // namespace drift
