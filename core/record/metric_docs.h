#pragma once

// What the numbers of a run and of an evaluation mean: `drift help NAME` and `drift reference metrics` are made of it.

#include <string>
#include <vector>

namespace drift {

struct MetricDoc {
  const char* name;     ///< as the file has it: "reward", "loss/NAME", "seconds.update"
  const char* unit;     ///< "s", "tokens"; what it is where it is no number: "text"
  const char* range;    ///< empty: any number
  const char* meaning;  ///< one sentence without a full stop
};

/// A file and everything in it, in its order.
struct RecordDoc {
  const char* file;      ///< "metrics.jsonl"
  const char* of;        ///< "a run"
  const char* contents;  ///< one sentence without a full stop: who writes it, and what one line is
  std::vector<MetricDoc> metrics;
};

/// Keys in capitals stand for names: of rewards, of a loss's metrics, of components, of cells.
const std::vector<RecordDoc>& record_docs();

}  // namespace drift
