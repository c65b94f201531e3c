#include <core/kernels/widened_product.h>

#include <core/kernels/one_thread_products.h>
#include <core/kernels/simd.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/zeros.h>

namespace drift::kernels {
namespace {

using Narrow = c10::BFloat16;

// A tile of a weight in float32, which a thread widens, multiplies and forgets while it is in the thread's cache.
constexpr std::int64_t kTileElements = 1 << 18;
// Rows of x, or columns of a gradient, that are widened at a time for all threads.
constexpr std::int64_t kChunk = 1024;
// Up to here a product is faster with the weight's tile as the first operand.
constexpr std::int64_t kFewRows = 64;

DRIFT_MULTIVERSION void widen_row(const Narrow* from, float* to, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] = widen(from[i]);
}

DRIFT_MULTIVERSION void narrow_row(const float* from, const Narrow* added, Narrow* to, std::int64_t count) {
  if (added == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<Narrow>(from[i]);
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<Narrow>(from[i] + widen(added[i]));
  }
}

/// The rows of `from` in float32, [R, C], with all threads.
at::Tensor widened_rows(const at::Tensor& from_RC) {
  const std::int64_t rows = from_RC.size(0), columns = from_RC.size(1), stride = from_RC.stride(0);
  auto to_RC = at::empty({rows, columns}, from_RC.options().dtype(at::kFloat));
  const Narrow* from = from_RC.const_data_ptr<Narrow>();
  float* to = to_RC.data_ptr<float>();
  at::parallel_for(0, rows, rows_per_task(columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) widen_row(from + row * stride, to + row * columns, columns);
  });
  return to_RC;
}

/// A tile in float32 of `rows` x `columns`, in memory of `workspace`.
at::Tensor widened_tile(const at::Tensor& from, std::int64_t row, std::int64_t rows, std::int64_t column,
                        std::int64_t columns, const at::Tensor& workspace) {
  auto tile = workspace.narrow(0, 0, rows * columns).view({rows, columns});
  const Narrow* begin = from.const_data_ptr<Narrow>() + row * from.stride(0) + column;
  for (std::int64_t r = 0; r < rows; ++r)
    widen_row(begin + r * from.stride(0), tile.data_ptr<float>() + r * columns, columns);
  return tile;
}

at::Tensor with_unit_columns(const at::Tensor& matrix) { return matrix.stride(1) == 1 ? matrix : matrix.contiguous(); }

/// `tasks` pieces of `width` of `total`, divided among the threads; each thread has a workspace of a tile.
template <class Body>
void for_each_tile(std::int64_t total, std::int64_t width, std::int64_t elements, const at::TensorOptions& options,
                   const Body& body) {
  at::parallel_for(0, (total + width - 1) / width, 1, [&](std::int64_t begin, std::int64_t end) {
    const OneThreadProducts one_thread;
    const auto workspace = at::empty({elements}, options.dtype(at::kFloat));
    for (std::int64_t tile = begin; tile < end; ++tile)
      body(tile * width, std::min(width, total - tile * width), workspace);
  });
}

std::int64_t tile_width(std::int64_t other) { return std::max<std::int64_t>(16, kTileElements / other / 16 * 16); }

/// Columns [first, first + width) of x W^T, for some rows of x.
void add_columns(const at::Tensor& x_MK, const at::Tensor& tile_TK, const at::Tensor& added, std::int64_t first,
                 const at::Tensor& out_MN) {
  const std::int64_t rows = x_MK.size(0), width = tile_TK.size(0);
  at::Tensor sums_MT;
  if (rows <= kFewRows) {
    sums_MT = at::cpu::mm(tile_TK, x_MK.t()).t().contiguous();
  } else {
    sums_MT = at::cpu::mm(x_MK, tile_TK.t());
  }
  const Narrow* more = added.defined() ? added.const_data_ptr<Narrow>() + first : nullptr;
  const std::int64_t more_stride = added.defined() && added.dim() == 2 ? added.stride(0) : 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    narrow_row(sums_MT.const_data_ptr<float>() + row * width, more ? more + row * more_stride : nullptr,
               out_MN.data_ptr<Narrow>() + row * out_MN.stride(0) + first, width);
  }
}

}  // namespace

at::Tensor widened_product(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& added) {
  auto out_MN = at::empty({x_MK.size(0), weight_NK.size(0)}, x_MK.options().requires_grad(false));
  widened_product_out(out_MN, x_MK, weight_NK, added);
  return out_MN;
}

void widened_product_out(const at::Tensor& out_MN, const at::Tensor& x_MK, const at::Tensor& weight_NK,
                         const at::Tensor& added) {
  const auto x = with_unit_columns(x_MK), weight = with_unit_columns(weight_NK);
  const auto more = added.defined() ? added.contiguous() : added;
  const std::int64_t inner = weight.size(1), width = tile_width(inner);
  for (std::int64_t first = 0; first < x.size(0); first += kChunk) {
    const std::int64_t rows = std::min(kChunk, x.size(0) - first);
    const auto wide_MK = widened_rows(x.narrow(0, first, rows));
    const auto out = out_MN.narrow(0, first, rows);
    const auto more_rows = more.defined() && more.dim() == 2 ? more.narrow(0, first, rows) : more;
    for_each_tile(weight.size(0), width, width * inner, x.options(),
                  [&](std::int64_t begin, std::int64_t count, const at::Tensor& workspace) {
                    add_columns(wide_MK, widened_tile(weight, begin, count, 0, inner, workspace), more_rows, begin,
                                out);
                  });
  }
}

void widened_input_gradient(const at::Tensor& out_MK, const at::Tensor& gradient_MN, const at::Tensor& weight_NK) {
  const auto gradient = with_unit_columns(gradient_MN), weight = with_unit_columns(weight_NK);
  const std::int64_t inner = weight.size(1), outer = weight.size(0);
  const std::int64_t depth = std::min(outer, 4 * kChunk), width = tile_width(depth);
  for (std::int64_t first = 0; first < gradient.size(0); first += kChunk) {
    const std::int64_t rows = std::min(kChunk, gradient.size(0) - first);
    // Sums over parts of N, so that no more than one part of the gradient is wide at a time.
    const auto sums_MK = at::zeros({rows, inner}, gradient.options().dtype(at::kFloat));
    for (std::int64_t row = 0; row < outer; row += depth) {
      const std::int64_t part = std::min(depth, outer - row);
      const auto wide_MN = widened_rows(gradient.narrow(0, first, rows).narrow(1, row, part));
      for_each_tile(inner, width, width * depth, gradient.options(),
                    [&](std::int64_t begin, std::int64_t count, const at::Tensor& workspace) {
                      auto sums = sums_MK.narrow(1, begin, count);
                      const auto tile_NT = widened_tile(weight, row, part, begin, count, workspace);
                      at::cpu::addmm_out(sums, sums, wide_MN, tile_NT);
                    });
    }
    at::parallel_for(0, rows, rows_per_task(inner), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        narrow_row(sums_MK.const_data_ptr<float>() + row * inner, nullptr,
                   out_MK.data_ptr<Narrow>() + (first + row) * out_MK.stride(0), inner);
      }
    });
  }
}

void widened_weight_gradient(const at::Tensor& out_NK, const at::Tensor& gradient_MN, const at::Tensor& x_MK,
                             bool add) {
  const auto gradient = with_unit_columns(gradient_MN);
  const auto x_wide_MK = widened_rows(with_unit_columns(x_MK));
  const std::int64_t rows = x_wide_MK.size(0), inner = x_wide_MK.size(1);
  const std::int64_t width = std::min(tile_width(std::max<std::int64_t>(rows, 1)), tile_width(inner));
  for_each_tile(out_NK.size(0), width, width * rows, gradient.options(),
                [&](std::int64_t begin, std::int64_t count, const at::Tensor& workspace) {
                  const auto tile_MT = widened_tile(gradient, 0, rows, begin, count, workspace);
                  auto out = out_NK.narrow(0, begin, count);
                  if (out.scalar_type() == at::kFloat) {
                    add ? at::cpu::addmm_out(out, out, tile_MT.t(), x_wide_MK)
                        : at::cpu::mm_out(out, tile_MT.t(), x_wide_MK);
                    return;
                  }
                  const auto sums_TK = at::cpu::mm(tile_MT.t(), x_wide_MK);
                  for (std::int64_t row = 0; row < count; ++row) {
                    Narrow* to = out.data_ptr<Narrow>() + row * out.stride(0);
                    narrow_row(sums_TK.const_data_ptr<float>() + row * inner, add ? to : nullptr, to, inner);
                  }
                });
}

}  // namespace drift::kernels
