#include <core/kernels/one_thread_products.h>

#include <drift/parallel.h>

#include <drift/error.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <omp.h>

#include <string>

namespace drift {

void parallel_rows(std::int64_t workers, std::int64_t count,
                   const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& body) {
  if (!body) throw Error("parallel_rows() was given no body");
  if (count < 0) throw Error("parallel_rows() was given " + std::to_string(count) + " rows");
  if (workers <= 1) {
    body(0, 0, count);
    return;
  }
  // Pool threads do not inherit the caller's thread-local modes.
  const bool gradients = c10::GradMode::is_enabled();
  const bool inference = c10::InferenceMode::is_enabled();
  at::parallel_for(0, workers, 1, [&](std::int64_t first, std::int64_t last) {
    // Of this thread, and only within this region. oneDNN divides a convolution's work among as many threads as OpenMP
    // offers, runs it on the one that it gets here, and would leave parts of the weights' gradient uncomputed.
    omp_set_num_threads(1);
    const kernels::OneThreadProducts one_thread;
    const c10::InferenceMode inference_mode(inference);
    const c10::AutoGradMode gradient_mode(gradients);
    for (std::int64_t worker = first; worker < last; ++worker) {
      body(worker, count * worker / workers, count * (worker + 1) / workers);
    }
  });
}

std::int64_t row_workers(std::int64_t hidden_size, bool on_cpu) {
  constexpr std::int64_t kLargeHiddenSize = 1024;
  return on_cpu && hidden_size < kLargeHiddenSize ? at::get_num_threads() : 1;
}

}  // namespace drift
