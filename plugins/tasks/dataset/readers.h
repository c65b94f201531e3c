#pragma once

#include "problems.h"
#include "record.h"

#include <cstdint>
#include <set>
#include <string>

namespace drift::dataset {

/// What is read of a file that is stored by columns, and what that may take.
struct Wanted {
  std::set<std::string> columns = {};  ///< at least the record's fields of these names
  bool whole_records = false;          ///< the others too, but for those that are no text
  std::int64_t parquet_mib = 0;
};

/// Hand every record of a file on, in its order, with its format as the ending says: .json (an array of objects),
/// .jsonl (an object a line) or .parquet. What is wrong goes to `problems`; the other records are still handed on.
void read_records(const std::string& path, const Wanted& wanted, Problems& problems, const UseRecord& use);

/// A JSON array of objects. @param file  its name, for places
void read_json_array(std::string_view text, const std::string& file, Problems& problems, const UseRecord& use);
/// One object a line; empty lines are none.
void read_json_lines(std::string_view text, const std::string& file, Problems& problems, const UseRecord& use);
/// Every row of a Parquet file, with the wanted columns; lists and structs become JSON. Stops where the decompressed
/// pages or the records take more than the wanted MiB.
void read_parquet(const std::string& path, const std::string& file, const Wanted& wanted, Problems& problems,
                  const UseRecord& use);

}  // namespace drift::dataset
