#include "solved_share.h"

#include "columns.h"
#include "readers.h"

#include <drift/error.h>

namespace drift::dataset {

SolvedShares::SolvedShares(const Settings& settings, Problems& problems) : column_(settings.solved_share_column) {
  const bool has_file = !settings.solved_share_file.empty();
  const bool chooses = settings.solved_share_low > 0 || settings.solved_share_high < 1;
  if (settings.solved_share_low > settings.solved_share_high)
    problems.other("`solved_share_low` is above `solved_share_high`");
  if (has_file && !column_.empty()) problems.other("`solved_share_column` and `solved_share_file` are both set");
  if (chooses && !has_file && column_.empty())
    problems.other("the solved-share limits need `solved_share_column` or `solved_share_file`");
  if (has_file) read(settings, problems);
}

void SolvedShares::read(const Settings& settings, Problems& problems) {
  const std::string& file = settings.solved_share_file;
  const Wanted wanted{.columns = {"id", "solved", "status"}, .parquet_mib = settings.parquet_mib};
  read_records(file, wanted, problems, [&](Record&& record) {
    const Json *id = find_column(record.fields, "id"), *solved = find_column(record.fields, "solved");
    if (id == nullptr || !id->is_string() || solved == nullptr || !solved->is_boolean()) {
      problems.bad_record(record.place, "a response needs `id`, a text, and `solved`, true or false");
      return;
    }
    const Json* status = find_column(record.fields, "status");
    if (status != nullptr && *status == "not judged") return;
    Count& count = responses_[id->get<std::string>()];
    count.solved += solved->get<bool>();
    ++count.responses;
  });
  if (responses_.empty()) problems.other(file + ": it has no judged response");
}

std::optional<double> SolvedShares::find(const Record& record, const std::string& id) const {
  if (column_.empty()) {
    const auto found = responses_.find(id);
    if (found == responses_.end()) return std::nullopt;
    return static_cast<double>(found->second.solved) / static_cast<double>(found->second.responses);
  }
  const Json* value = find_column(record.fields, column_);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || value->get<double>() < 0 || value->get<double>() > 1)
    throw Error("`" + column_ + "` is not a share between 0 and 1");
  return value->get<double>();
}

}  // namespace drift::dataset
