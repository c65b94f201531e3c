#pragma once

// What changed between two evaluations of the same items.

#include <core/eval/response_record.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// One side's judgement of an item: the share of its samples that are solved, and the last one that decided.
struct ItemVerdict {
  double solved = 0;
  std::string status, reason;
};

/// An item that the sides do not solve equally often.
struct ItemChange {
  std::string id;
  ItemVerdict before, after;
};

struct CellComparison {
  std::string cell;
  std::int64_t items = 0;              ///< that both sides have judged
  std::int64_t unjudged = 0;           ///< left out: a side could not judge a response
  double before = 0, after = 0;        ///< accuracies
  double difference = 0;               ///< after - before
  double standard_error = 0;           ///< of the difference, from the differences item by item
  double p = 1;                        ///< that accuracies are equal
  std::string test;                    ///< which test p is of
  std::vector<ItemChange> changes;     ///< in the order of the items
  std::int64_t worse = 0, better = 0;  ///< of the changes
  std::int64_t other_responses = 0;    ///< responses that are not the same text
};

/// Exact McNemar test if each item has one sample on both sides, else a sign-flip test over the items.
/// @throws Error if the sides do not have the same items and questions, naming those that are missing
CellComparison compare_records(const std::string& cell, const std::vector<ResponseRecord>& before,
                               const std::vector<ResponseRecord>& after);

struct Comparison {
  std::vector<CellComparison> cells;
  std::vector<std::string> only_before, only_after;  ///< cells that the other side lacks
};

/// @param before,after  folders of evaluations, or two files of responses
/// @throws Error if there is nothing to compare, and as above
Comparison compare_evaluations(const std::filesystem::path& before, const std::filesystem::path& after);

}  // namespace drift
