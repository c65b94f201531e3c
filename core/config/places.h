#pragma once

#include <core/config/diagnostic.h>
#include <core/config/document.h>
#include <core/config/merge.h>

#include <drift/params.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Mistakes of place: sections that do not exist, and values outside any section.
std::vector<Diagnostic> find_misplaced(const ConfigDocument& document, const MergedConfig& merged);

/// "it belongs to [train]" for a key of the core's sections; empty if it is none.
std::string home_of_key(std::string_view name);

std::vector<std::string> names_of(const std::vector<Parameter>& specs);

}  // namespace drift
