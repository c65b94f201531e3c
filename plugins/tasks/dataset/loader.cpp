#include "loader.h"

#include "item_reader.h"
#include "problems.h"
#include "readers.h"
#include "solved_share.h"
#include "text.h"

#include <drift/error.h>

#include <core/base/question_key.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace drift::dataset {
namespace {

/// Reasons for leaving items out, with their numbers, in the order in which they were met.
class LeftOut {
 public:
  void count(const std::string& reason, std::int64_t items = 1) {
    const auto known = std::find_if(reasons_.begin(), reasons_.end(), [&](const auto& r) { return r.first == reason; });
    if (known != reasons_.end()) {
      known->second += items;
    } else if (items > 0) {
      reasons_.emplace_back(reason, items);
    }
  }

  /// "training: 8523 records, 8521 items; left out: 2 bad"; empty if nothing was.
  std::string note(const std::string& set, std::int64_t records, std::size_t items) const {
    if (reasons_.empty()) return {};
    std::string list;
    for (const auto& [reason, number] : reasons_)
      list += (list.empty() ? "" : ", ") + std::to_string(number) + " " + reason;
    return set + ": " + std::to_string(records) + " records, " + std::to_string(items) + " items; left out: " + list;
  }

 private:
  std::vector<std::pair<std::string, std::int64_t>> reasons_;
};

class Loader {
 public:
  explicit Loader(const Settings& settings)
      : settings_(settings), reader_(settings), wanted_(reader_.wanted()), shares_(settings, problems_) {}

  Items run() {
    if (settings_.training_files.empty() && settings_.held_out_files.empty())
      problems_.other("neither `training_files` nor `held_out_files` names a file");
    if (settings_.held_out_share > 0 && !settings_.held_out_files.empty())
      problems_.other("`held_out_share` and `held_out_files` are both set: `dedupe_against_files` may name the latter");
    check_names();
    read_held_out();
    read_evaluation_questions();
    read_training();
    problems_.throw_if_any(!settings_.skip_bad, settings_.overlap == Overlap::kRefuse);
    return std::move(items_);
  }

 private:
  /// Names of files are part of the items' ids.
  void check_names() {
    std::map<std::string, std::string> paths;
    for (const auto* files : {&settings_.training_files, &settings_.held_out_files}) {
      for (const std::string& path : *files) {
        const auto [known, is_new] = paths.emplace(std::filesystem::path(path).filename().string(), path);
        if (!is_new && known->second != path)
          problems_.other(known->second + " and " + path + ": two files have the same name, with which ids begin");
      }
    }
  }

  /// Every record of a file; an Error of `use` makes it a bad one.
  template <class Use>
  void read_file(const std::string& path, const Use& use) {
    const auto mistakes = [&] { return problems_.bad_records() + problems_.others(); };
    const std::int64_t before = mistakes();
    std::int64_t records = 0, without_column = 0;
    std::string fault;
    read_records(path, wanted_, problems_, [&](Record&& record) {
      ++records;
      try {
        use(record);
      } catch (const Error& error) {
        fault = error.what();
        without_column += dynamic_cast<const MissingColumn*>(&error) != nullptr;
        problems_.bad_record(record.place, fault);
      }
    });
    if (records == 0 && mistakes() == before) problems_.other(path + ": it holds no record");
    if (records == 0 || without_column < records || mistakes() > before + records) return;
    if (const std::string columns = columns_of(path); !columns.empty())
      problems_.missing_column(path + ": " + fault + "; set it to one of the file's columns: " + columns, records);
  }

  /// "`question`, `info.level`": the fields of a struct one by one.
  std::string columns_of(const std::string& path) const {
    std::set<std::string> names;
    std::string list;
    const auto add = [&](const std::string& name) {
      constexpr std::size_t most = 30;
      if (names.size() < most && names.insert(name).second) list += (list.empty() ? "`" : ", `") + name + "`";
    };
    Problems known;
    const Wanted all{.whole_records = true, .parquet_mib = settings_.parquet_mib};
    read_records(path, all, known, [&](Record&& record) {
      for (const auto& [name, value] : record.fields.items()) {
        if (!value.is_object()) add(name);
        if (value.is_object()) {
          for (const auto& [key, field] : value.items()) add(name + "." + key);
        }
      }
    });
    return list;
  }

  /// Every good record of `files` with its item.
  template <class Use>
  void read(const std::vector<std::string>& files, LeftOut& left_out, std::int64_t& records, const Use& use) {
    std::unordered_map<std::string, Place> ids;
    const std::int64_t bad_before = problems_.bad_records();
    for (const std::string& path : files) {
      read_file(path, [&](const Record& record) {
        TaskItem item = reader_.item(record);
        const auto [known, is_new] = ids.emplace(item.id, record.place);
        if (!is_new) throw Error("its id `" + item.id + "` is also that of " + known->second.text());
        use(record, std::move(item));
        ++records;
      });
    }
    const std::int64_t bad = problems_.bad_records() - bad_before;
    records += bad;
    left_out.count("bad", bad);
  }

  void read_held_out() {
    LeftOut left_out;
    std::int64_t records = 0;
    read(settings_.held_out_files, left_out, records, [&](const Record& record, TaskItem&& item) {
      evaluation_questions_.emplace(question_key(item.prompt), record.place);
      items_.held_out.push_back(std::move(item));
    });
    add_set("held-out", left_out, records, items_.held_out.size());
  }

  void read_evaluation_questions() {
    for (const std::string& path : settings_.dedupe_against_files) {
      read_file(path, [&](const Record& record) {
        evaluation_questions_.emplace(question_key(reader_.question(record)), record.place);
      });
    }
  }

  void read_training() {
    LeftOut left_out;
    std::int64_t records = 0, chosen = 0;
    read(settings_.training_files, left_out, records, [&](const Record& record, TaskItem&& item) {
      if (is_held_out(item)) {
        left_out.count("held out");
        items_.held_out.push_back(std::move(item));
      } else if (const std::string why = reason_to_leave_out(record, item); !why.empty()) {
        left_out.count(why);
      } else if (++chosen <= settings_.limit || settings_.limit == 0) {
        items_.training.push_back(std::move(item));
      } else {
        left_out.count("over the limit");
      }
    });
    add_set("training", left_out, records, items_.training.size());
    if (settings_.held_out_share > 0 && records > 0 && items_.held_out.empty())
      problems_.other("`held_out_share` holds out no item of " + std::to_string(records));
  }

  /// Equal questions go to the same side, whatever else is in the file.
  bool is_held_out(const TaskItem& item) const {
    return settings_.held_out_share > 0 &&
           RandomStream(0, "held out").child(question_key(item.prompt)).uniform({}) < settings_.held_out_share;
  }

  std::string reason_to_leave_out(const Record& record, const TaskItem& item) {
    if (settings_.overlap != Overlap::kAllow && !evaluation_questions_.empty()) {
      const auto evaluation = evaluation_questions_.find(question_key(item.prompt));
      if (evaluation != evaluation_questions_.end()) {
        problems_.overlap(record.place, evaluation->second, item.prompt);
        return "in an evaluation set";
      }
    }
    const std::int64_t characters = count_characters(item.prompt);
    if (characters < settings_.minimum_characters) return "too short";
    if (settings_.maximum_characters > 0 && characters > settings_.maximum_characters) return "too long";
    if (!shares_.given()) return "";
    const std::optional<double> share = shares_.find(record, item.id);
    if (!share) return "without a solved share";
    if (*share < settings_.solved_share_low) return "solved too rarely";
    return *share > settings_.solved_share_high ? "solved too often" : "";
  }

  void add_set(const std::string& name, const LeftOut& left_out, std::int64_t records, std::size_t items) {
    const std::string note = left_out.note(name, records, items);
    if (!note.empty()) items_.notes.push_back(note);
    if (records > 0 && items == 0) problems_.other("no " + name + " item is left: " + note);
  }

  const Settings& settings_;
  Problems problems_;
  ItemReader reader_;
  Wanted wanted_;
  SolvedShares shares_;
  std::unordered_map<std::string, Place> evaluation_questions_;
  Items items_;
};

}  // namespace

Items load_items(const Settings& settings) { return Loader(settings).run(); }

}  // namespace drift::dataset
