#pragma once

#include "columns.h"
#include "messages.h"
#include "readers.h"
#include "record.h"
#include "settings.h"

#include <drift/task.h>

#include <string>

namespace drift::dataset {

/// From a record to an item, as the column map says.
class ItemReader {
 public:
  /// @throws Error if a template cannot be read.
  explicit ItemReader(const Settings& settings);

  /// @throws Error saying what is wrong with the record.
  TaskItem item(const Record& record) const;
  std::string question(const Record& record) const;

  /// What item() may look at.
  Wanted wanted() const;

 private:
  Conversation conversation(const Record& record) const;
  std::string reference(const Record& record) const;
  std::string answer(const Json& value) const;
  std::string prefix(const Record& record) const;

  const Settings& settings_;
  Template question_, prefix_;
};

}  // namespace drift::dataset
