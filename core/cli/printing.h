#pragma once

// What commands print with: tables, numbers, JSON, names in messages.

#include <core/base/quote.h>
#include <core/config/nearest.h>
#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/terminal.h>
#include <core/report/text_table.h>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <iostream>
#include <string>

namespace drift {

using Json = nlohmann::ordered_json;

/// "1 run", "3 runs".
inline std::string count_of(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace drift
