// How fast a checkpoint opens against a plain copy of its files into memory: both from the page cache into memory that
// is fresh each time, on the same threads, in one process, in turn.
//
//   build/release/bench/checkpoint_bench [--rounds 9] [--gigabytes 2] [--threads 2] [--folder DIR]
//
// The checkpoint is bfloat16 in shards of at most 1 GB, written to --folder (default: the folder for temporary files)
// and removed afterwards. Numbers are medians with quartiles.

#include "bench/measure.h"
#include "bench/recipe.h"

#include <core/base/threads.h>
#include <core/io/atomic.h>
#include <core/io/checkpoint.h>
#include <core/io/tensor_pieces.h>

#include <drift/export.h>
#include <drift/parallel.h>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <boost/program_options.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

namespace drift::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRows = 4096, kColumns = 4096;  // 34 MB each

std::vector<NamedTensor> model(std::int64_t tensors, at::ScalarType dtype) {
  std::vector<NamedTensor> parameters;
  for (std::int64_t i = 0; i < tensors; ++i) {
    parameters.push_back({"layer." + std::to_string(i), at::empty({kRows, kColumns}, dtype)});
  }
  return parameters;
}

struct Piece {
  int file = -1;
  std::int64_t from = 0, bytes = 0, to = 0;
};

/// The folder's weight files as one run of bytes, read piece by piece by all threads.
void plain_copy(const fs::path& folder) {
  std::vector<Piece> pieces;
  std::vector<int> files;
  std::int64_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    files.push_back(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    const auto size = static_cast<std::int64_t>(entry.file_size());
    for (std::int64_t from = 0; from < size; from += kPieceBytes) {
      pieces.push_back({files.back(), from, std::min(kPieceBytes, size - from), total + from});
    }
    total += size;
  }
  const at::Tensor memory = at::empty({total}, at::kByte);
  auto* bytes = static_cast<char*>(memory.mutable_data_ptr());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const std::int64_t threads = at::get_num_threads();
  parallel_rows(threads, threads, [&](std::int64_t, std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      for (Piece piece = pieces[i]; piece.bytes > 0 && !failed;) {
        const ssize_t got = ::pread(piece.file, bytes + piece.to, static_cast<std::size_t>(piece.bytes), piece.from);
        failed = got <= 0;
        piece.from += got, piece.to += got, piece.bytes -= got;
      }
    }
  });
  for (const int file : files) ::close(file);
  if (failed) throw std::runtime_error("the files could not be read");
}

/// Its memory goes back to the system: each round fills fresh pages, as a program that opens its first checkpoint.
Case with_fresh_memory(const std::string& name, const std::function<void()>& run) {
  return {name, [run] {
            run();
            ::malloc_trim(0);
          }};
}

void measure_opening(int rounds, double gigabytes, const fs::path& where) {
  const auto tensors = static_cast<std::int64_t>(gigabytes * 1e9 / (kRows * kColumns * 2));
  AtomicFolder folder(where / "checkpoint_bench");
  const auto bytes = static_cast<double>(tensors * kRows * kColumns * 2);
  {
    std::vector<NamedTensor> parameters;
    const at::Tensor ones = at::ones({kRows, kColumns}, at::kBFloat16);
    for (std::int64_t i = 0; i < tensors; ++i) parameters.push_back({"layer." + std::to_string(i), ones});
    write_checkpoint_files(folder.path(), parameters, "{}", {}, 1'000'000'000);
  }
  const auto open_as = [&](at::ScalarType type) { load_parameters(folder.path(), model(tensors, type)); };
  const Measurement measured({with_fresh_memory("plain copy", [&] { plain_copy(folder.path()); }),
                              with_fresh_memory("open as bfloat16", [&] { open_as(at::kBFloat16); }),
                              with_fresh_memory("open as float32", [&] { open_as(at::kFloat); })},
                             rounds);
  std::printf("%.2f GB of bfloat16 in the page cache, %d threads, %d rounds\n", bytes / 1e9, at::get_num_threads(),
              rounds);
  for (const char* name : {"plain copy", "open as bfloat16", "open as float32"}) {
    print_line(name, measured.milliseconds(name));
    std::printf("  %-58s %9.2f GB/s of the files\n", "", bytes / 1e6 / measured.milliseconds(name).median);
  }
  print_ratio("plain copy / open as bfloat16", measured.ratio("plain copy", "open as bfloat16"));
  print_ratio("plain copy / open as float32", measured.ratio("plain copy", "open as float32"));
}

void run(int count, char** arguments) {
  namespace options = boost::program_options;
  options::options_description known;
  known.add_options()("rounds", options::value<int>()->default_value(9))(
      "gigabytes", options::value<double>()->default_value(2))("threads", options::value<int>()->default_value(0))(
      "folder", options::value<std::string>()->default_value(std::filesystem::temp_directory_path().string()));
  options::variables_map values;
  options::store(options::parse_command_line(count, arguments, known), values);
  use_threads(values["threads"].as<int>());
  measure_opening(values["rounds"].as<int>(), values["gigabytes"].as<double>(), values["folder"].as<std::string>());
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
