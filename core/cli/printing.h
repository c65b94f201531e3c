#pragma once

// What commands print with: tables, numbers, JSON, names in messages.

#include <core/base/quote.h>
#include <core/config/nearest.h>
#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/terminal.h>
#include <core/report/text_table.h>

#include <nlohmann/json.hpp>

#include <iostream>

namespace drift {

using Json = nlohmann::ordered_json;

}  // namespace drift
