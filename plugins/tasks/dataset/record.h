#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace drift::dataset {

using Json = nlohmann::ordered_json;

/// Where a record stands.
struct Place {
  std::string file;         ///< its name, without the folder
  std::int64_t record = 0;  ///< 1, 2, …
  std::int64_t line = 0;    ///< where it begins, from 1 on; 0: the file has no lines

  /// "train.json record 12 (line 14)"
  std::string text() const {
    return file + " record " + std::to_string(record) + (line > 0 ? " (line " + std::to_string(line) + ")" : "");
  }
};

/// One record, an object with the columns as its fields.
struct Record {
  Place place;
  Json fields;
};

using UseRecord = std::function<void(Record&& record)>;

}  // namespace drift::dataset
