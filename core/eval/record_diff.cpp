#include <core/eval/record_diff.h>

#include <core/config/nearest.h>
#include <core/eval/cell.h>
#include <core/eval/record_file.h>
#include <core/record/estimate.h>
#include <core/record/significance.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 0;
constexpr std::size_t kNamed = 5;

struct Item {
  std::string question, reference;
  std::vector<const ResponseRecord*> samples;

  bool is_judged() const {
    return std::ranges::all_of(samples, [](const ResponseRecord* record) { return record->is_judged(); });
  }
  ItemVerdict verdict() const {
    ItemVerdict verdict;
    double solved = 0;
    for (const ResponseRecord* record : samples) solved += record->solved ? 1 : 0;
    verdict.solved = solved / static_cast<double>(samples.size());
    verdict.status = status_name(samples.front()->status);
    verdict.reason = samples.front()->reason;
    return verdict;
  }
};

/// Items by id, and the ids in their order.
struct Side {
  std::map<std::string, Item> items;
  std::vector<std::string> order;

  explicit Side(const std::vector<ResponseRecord>& records) {
    for (const ResponseRecord& record : records) {
      const auto [entry, is_new] = items.try_emplace(record.id, Item{record.question, record.reference, {}});
      if (is_new) order.push_back(record.id);
      entry->second.samples.push_back(&record);
    }
  }
};

std::string some_of(const std::vector<std::string>& names) {
  std::string text =
      joined({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, names.size()))});
  return text + (names.size() > kNamed ? ", …" : "") + " (" + std::to_string(names.size()) + ")";
}

void check_same_items(const std::string& cell, const Side& before, const Side& after) {
  std::vector<std::string> only_before, only_after, others;
  for (const std::string& id : before.order) {
    const auto other = after.items.find(id);
    if (other == after.items.end()) {
      only_before.push_back(id);
    } else if (const Item& item = before.items.at(id);
               item.question != other->second.question || item.reference != other->second.reference) {
      others.push_back(id);
    }
  }
  for (const std::string& id : after.order) {
    if (!before.items.contains(id)) only_after.push_back(id);
  }
  std::string text;
  if (!only_before.empty()) text += "\n       only the first has " + some_of(only_before);
  if (!only_after.empty()) text += "\n       only the second has " + some_of(only_after);
  if (!others.empty()) text += "\n       a different question or reference: " + some_of(others);
  if (text.empty()) return;
  throw Error("the two evaluations of " + cell + " are not of the same items:" + text,
              "finish both, with the same task and evaluation.items; only equal items can be compared");
}

std::int64_t count_other_responses(const Item& before, const Item& after) {
  std::int64_t count = 0;
  for (std::size_t sample = 0; sample < std::min(before.samples.size(), after.samples.size()); ++sample)
    count += before.samples[sample]->response == after.samples[sample]->response ? 0 : 1;
  return count;
}

std::vector<std::string> cells_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(folder / "responses", failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".jsonl" && !path.filename().string().starts_with('.'))
      names.push_back(path.stem().string());
  }
  if (failed)
    throw Error(folder.string() + " is not the folder of an evaluation",
                "such a folder has a folder `responses`; drift eval --out writes it");
  std::ranges::sort(names);
  return names;
}

}  // namespace

CellComparison compare_records(const std::string& cell, const std::vector<ResponseRecord>& before,
                               const std::vector<ResponseRecord>& after) {
  const Side first(before), second(after);
  check_same_items(cell, first, second);
  CellComparison result;
  result.cell = cell;
  std::vector<double> differences;
  bool several = false;
  for (const std::string& id : first.order) {
    const Item &item_before = first.items.at(id), &item_after = second.items.at(id);
    result.other_responses += count_other_responses(item_before, item_after);
    if (!item_before.is_judged() || !item_after.is_judged()) {
      ++result.unjudged;
      continue;
    }
    several = several || item_before.samples.size() > 1 || item_after.samples.size() > 1;
    ItemVerdict a = item_before.verdict(), b = item_after.verdict();
    result.before += a.solved;
    result.after += b.solved;
    differences.push_back(b.solved - a.solved);
    if (a.solved == b.solved) continue;
    ++(b.solved > a.solved ? result.better : result.worse);
    result.changes.push_back({id, std::move(a), std::move(b)});
  }
  result.items = static_cast<std::int64_t>(differences.size());
  if (result.items == 0) return result;
  const auto count = static_cast<double>(result.items);
  result.before /= count;
  result.after /= count;
  const Estimate mean = estimate(differences);
  result.difference = mean.mean;
  result.standard_error = mean.count > 1 ? mean.error : 0;
  result.test = several ? "sign flips over the items" : "exact McNemar";
  result.p = several ? sign_flip_p(differences, kSeed) : mcnemar_p(result.worse, result.better);
  return result;
}

Comparison compare_evaluations(const fs::path& before, const fs::path& after) {
  Comparison comparison;
  if (fs::is_regular_file(before) && fs::is_regular_file(after)) {
    const std::string name = before.stem() == after.stem() ? before.stem().string()
                                                           : before.stem().string() + " and " + after.stem().string();
    comparison.cells.push_back(compare_records(name, RecordFile(before).records(), RecordFile(after).records()));
    return comparison;
  }
  const std::vector<std::string> first = cells_in(before), second = cells_in(after);
  std::ranges::set_difference(first, second, std::back_inserter(comparison.only_before));
  std::ranges::set_difference(second, first, std::back_inserter(comparison.only_after));
  std::vector<std::string> shared;
  std::ranges::set_intersection(first, second, std::back_inserter(shared));
  if (shared.empty()) {
    throw Error("the two evaluations have no cell in common",
                before.string() + " has " + joined(first) + "; " + after.string() + " has " + joined(second));
  }
  for (const std::string& cell : shared) {
    const EvaluationFolder a{before}, b{after};
    comparison.cells.push_back(
        compare_records(cell, RecordFile(a.responses(cell)).records(), RecordFile(b.responses(cell)).records()));
  }
  return comparison;
}

}  // namespace drift
