// A Parquet file of any bytes: every row is a record or a bad one, and takes no more than it may.

#include <plugins/tasks/dataset/problems.h>
#include <plugins/tasks/dataset/readers.h>
#include <tests/fuzz/fuzz.h>

#include <algorithm>
#include <fstream>

namespace drift::parquet_fuzzer {
namespace {

using drift::dataset::Wanted;
using drift::fuzz::require;

void read(const std::string& path, const Wanted& wanted) {
  std::size_t bytes = 0;
  drift::dataset::Problems problems;
  drift::dataset::read_parquet(path, "a.parquet", wanted, problems, [&](const drift::dataset::Record& record) {
    require(record.fields.is_object() && record.place.record > 0);
    const std::string text = record.fields.dump();
    constexpr std::size_t kLongestEscape = 6;  // \u0000 is one byte of the file
    const auto escapes = static_cast<std::size_t>(std::ranges::count(text, '\\'));
    bytes += text.size() - std::min(text.size(), kLongestEscape * escapes);
  });
  require(bytes >> 20 <= 2 * static_cast<std::size_t>(wanted.parquet_mib));
}

}  // namespace

DRIFT_FUZZ_TARGET(parquet) {
  static const std::string path = drift::fuzz::temporary_file(".parquet");
  std::ofstream(path, std::ios::binary) << std::string_view(reinterpret_cast<const char*>(data), size);
  read(path, {.whole_records = true, .parquet_mib = 4});
  read(path, {.columns = {"question", "answer"}, .parquet_mib = 4});
  return 0;
}

}  // namespace drift::parquet_fuzzer
