#pragma once

// Independent rows, on all threads of the run:
//
//     const auto workers = drift::row_workers(model.traits().hidden_size, /*on_cpu=*/true);
//     drift::parallel_rows(workers, rows, [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
//       for (std::int64_t row = begin; row < end; ++row) work_on(row, scratch[worker]);
//     });

#include <drift/export.h>

#include <cstdint>
#include <functional>

namespace drift {

/// Split `count` independent rows of work over the run's threads. `body(worker, begin, end)` runs once for each worker,
/// concurrently, with tensor operations inside it on one thread. Worker w gets rows [count w / workers, count (w + 1) /
/// workers). With `workers` = 1 the body runs on the calling thread and tensor operations use all threads.
///
/// Small models are faster with one thread per worker (an operation is too short to share), large ones with shared
/// operations.
DRIFT_API void parallel_rows(
    std::int64_t workers, std::int64_t count,
    const std::function<void(std::int64_t worker, std::int64_t begin, std::int64_t end)>& body);

/// The number of workers for a model of this hidden size on this device: all threads for small models on the CPU,
/// else 1.
DRIFT_API std::int64_t row_workers(std::int64_t hidden_size, bool on_cpu);

}  // namespace drift
