#pragma once

#include "record.h"

#include <cstdint>
#include <string>
#include <vector>

namespace drift::dataset {

/// Everything that is wrong with a data set, so that it is said at once.
class Problems {
 public:
  /// One record is unusable; `skip_bad` may leave it out.
  void bad_record(const Place& place, const std::string& reason);
  /// Wrong in a way that leaving out records does not cure.
  void other(const std::string& what);
  /// A column that no record of a file has: it stands for the last `records` bad records.
  void missing_column(const std::string& what, std::int64_t records);
  /// A named file is not there.
  void missing_file(const std::string& path);
  /// Training questions that evaluation asks, too.
  void overlap(const Place& training, const Place& evaluation, const std::string& question);

  std::int64_t bad_records() const { return bad_.count; }
  std::int64_t others() const { return others_.count; }
  std::int64_t overlaps() const { return overlaps_.count; }

  /// @throws Error with all of it: of overlaps three, of others 50 lines. Bad records and overlaps only where they are
  /// refused.
  void throw_if_any(bool refuse_bad_records, bool refuse_overlaps) const;

 private:
  /// The first lines of a list, and how long it is.
  struct List {
    std::vector<std::string> lines = {};
    std::int64_t count = 0;
    std::size_t most = 50;  ///< lines that are kept
    void add(std::string line);
    std::string text() const;
  };

  List bad_, others_, overlaps_{.most = 3};
  bool files_are_missing_ = false;
};

}  // namespace drift::dataset
