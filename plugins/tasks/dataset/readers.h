#pragma once

#include "problems.h"
#include "record.h"

#include <string>

namespace drift::dataset {

/// Hand every record of a file on, in its order, with its format as the ending says: .json (an array of objects),
/// .jsonl (an object a line) or .parquet. What is wrong goes to `problems`; the other records are still handed on.
void read_records(const std::string& path, Problems& problems, const UseRecord& use);

/// A JSON array of objects. @param file  its name, for places
void read_json_array(std::string_view text, const std::string& file, Problems& problems, const UseRecord& use);
/// One object a line; empty lines are none.
void read_json_lines(std::string_view text, const std::string& file, Problems& problems, const UseRecord& use);
/// Every row of a Parquet file; lists and structs become JSON.
void read_parquet(const std::string& path, const std::string& file, Problems& problems, const UseRecord& use);

}  // namespace drift::dataset
