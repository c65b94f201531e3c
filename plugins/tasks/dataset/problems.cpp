#include "problems.h"

#include "text.h"

#include <drift/error.h>

#include <algorithm>

namespace drift::dataset {
namespace {

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

void Problems::List::add(std::string line) {
  ++count;
  if (lines.size() < most) lines.push_back(std::move(line));
}

std::string Problems::List::text() const {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  const auto more = count - static_cast<std::int64_t>(lines.size());
  return more == 0 ? text : text + "\n  … and " + std::to_string(more) + " more";
}

void Problems::bad_record(const Place& place, const std::string& reason) { bad_.add(place.text() + ": " + reason); }

void Problems::other(const std::string& what) { others_.add(what); }

void Problems::missing_column(const std::string& what, std::int64_t records) {
  bad_.count -= records;
  bad_.lines.resize(std::min(bad_.lines.size(), static_cast<std::size_t>(bad_.count)));
  other(what);
}

void Problems::missing_file(const std::string& path) {
  other("cannot read " + path + ": No such file or directory");
  files_are_missing_ = true;
}

void Problems::overlap(const Place& training, const Place& evaluation, const std::string& question) {
  overlaps_.add(training.text() + " = " + evaluation.text() + ": " + first_words(question));
}

void Problems::throw_if_any(bool refuse_bad_records, bool refuse_overlaps) const {
  std::vector<std::string> parts, hints;
  if (others_.count > 0) parts.push_back("the data cannot be used:" + others_.text());
  if (files_are_missing_)
    hints.push_back("scripts/fetch_data brings the published data sets into data/; docs/data.md says what each one is");
  if (refuse_bad_records && bad_.count > 0) {
    parts.push_back(counted(bad_.count, "bad record:", "bad records:") + bad_.text());
    hints.push_back("fix the records, or leave them out with task.skip_bad = true");
  }
  if (refuse_overlaps && overlaps_.count > 0) {
    parts.push_back(counted(overlaps_.count, "training question is", "training questions are") +
                    " also in the evaluation set:" + overlaps_.text());
    hints.push_back("leave them out of training with task.overlap = \"drop\", or keep them with \"allow\"");
  }
  const auto joined = [](const std::vector<std::string>& texts, const char* between) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
    return all;
  };
  if (!parts.empty()) throw Error(joined(parts, "\n"), joined(hints, "; "));
}

}  // namespace drift::dataset
