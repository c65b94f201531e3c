#pragma once

#include <core/report/text_table.h>

#include <nlohmann/json_fwd.hpp>

namespace drift {

/// A list with an object for every row, by the columns' titles. What is not known, an empty number, is null.
nlohmann::ordered_json to_json(const TextTable& table);

}  // namespace drift
