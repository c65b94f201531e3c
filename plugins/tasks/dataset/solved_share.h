#pragma once

#include "problems.h"
#include "record.h"
#include "settings.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace drift::dataset {

/// How often a model solved each item: from a column of the records, or from a file of judged responses.
class SolvedShares {
 public:
  SolvedShares(const Settings& settings, Problems& problems);

  /// Whether there is anything to choose by.
  bool given() const { return !column_.empty() || !responses_.empty(); }
  /// In [0, 1]; nothing if the item was never asked. @throws Error if the column holds no share.
  std::optional<double> find(const Record& record, const std::string& id) const;

 private:
  struct Count {
    std::int64_t solved = 0, responses = 0;
  };

  void read(const Settings& settings, Problems& problems);

  std::string column_;
  std::unordered_map<std::string, Count> responses_;
};

}  // namespace drift::dataset
