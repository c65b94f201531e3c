#pragma once

#include <drift/task.h>

#include <cstdint>
#include <vector>

namespace dataset {

/// Problems out of files, in the formats and by the column map of Settings.
class DatasetTask final : public drift::Task, public drift::TrainingList {
 public:
  static drift::ParamSpecs parameters();
  /// @throws drift::Error with everything that is wrong with the files.
  explicit DatasetTask(const drift::Params& params);

  void training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, drift::TaskItem& item) const override;

  std::int64_t training_size() const override { return static_cast<std::int64_t>(training_.size()); }
  void listed_item(std::int64_t index, drift::TaskItem& item) const override;
  void keep(const std::vector<std::int64_t>& indices) override;

 private:
  bool shuffle_;
  std::vector<drift::TaskItem> training_, held_out_;
};

}  // namespace dataset
