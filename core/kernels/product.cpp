#include <core/kernels/product.h>

#include <core/kernels/widened_product.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace drift::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Processor {
  std::string vendor = "a processor";
  bool amx_bfloat16 = false;
  bool avx512_bfloat16 = false;
  bool avx512 = false;
};

Processor ask_processor() {
  Processor has;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) != 0) {
    char vendor[12];
    std::memcpy(vendor, &b, 4), std::memcpy(vendor + 4, &d, 4), std::memcpy(vendor + 8, &c, 4);
    has.vendor.assign(vendor, sizeof vendor);
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    has.avx512 = (b & bit_AVX512F) != 0;
    has.amx_bfloat16 = (d & (1u << 22)) != 0;
  }
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) has.avx512_bfloat16 = (a & (1u << 5)) != 0;
#endif
  return has;
}

const Processor& processor() {
  static const Processor processor = ask_processor();
  return processor;
}

/// Time of the widened product / time of LibTorch's, 512 rows, of processors with AVX-512 BF16 and without AMX. With
/// AMX LibTorch's are taken, unmeasured; without either widened ones: 0.15 with AVX2.
struct MeasuredRatio {
  const char* vendor;
  double widened_over_native;
};
constexpr MeasuredRatio kMeasured[] = {{"GenuineIntel", 0.62}, {"AuthenticAMD", 2.2}};

std::atomic<Bfloat16Products>& chosen() {
  static std::atomic<Bfloat16Products> products = measured_bfloat16_products();
  return products;
}

bool is_widened(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kBFloat16 && bfloat16_products() == Bfloat16Products::kWidened;
}

bool has_graph(const at::Tensor& x, const at::Tensor& weight) {
  return c10::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad());
}

// What follows was measured on one processor of each kind: docs/benchmarks.md, "Matrix products".

/// Very few rows of bfloat16 where products are widened: with AVX-512 BF16 the weight need not be widened on its way
/// from memory.
bool is_faster_native(const at::Tensor& x_MK, const at::Tensor& weight_NK) {
  constexpr std::int64_t kMostRows = 8;
  return processor().avx512_bfloat16 && !processor().amx_bfloat16 && x_MK.size(0) <= kMostRows &&
         !has_graph(x_MK, weight_NK);
}

/// Few rows times a large float32 matrix: LibTorch's product is faster when the large matrix is its first operand,
/// although the result must be turned then.
bool is_faster_turned(const at::Tensor& x_MK, const at::Tensor& weight_NK) {
  const bool avx512 = processor().avx512;
  const std::int64_t least_rows = avx512 ? 8 : 2, most_rows = avx512 ? 32 : 128;
  constexpr std::int64_t kLeastElements = 1 << 18, kMostColumns = 1 << 14;
  return x_MK.is_cpu() && x_MK.scalar_type() == at::kFloat && x_MK.size(0) >= least_rows && x_MK.size(0) <= most_rows &&
         weight_NK.numel() >= kLeastElements && weight_NK.size(0) <= kMostColumns && !has_graph(x_MK, weight_NK);
}

/// Inputs: x, W, what is added or nothing.
struct WidenedProduct : torch::autograd::Function<WidenedProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_MK, const at::Tensor& weight_NK,
                            const std::optional<at::Tensor>& added) {
    context->save_for_backward({x_MK, weight_NK});
    if (added) context->saved_data["added_rows"] = added->dim() == 2;
    return widened_product(x_MK, weight_NK, added.value_or(at::Tensor()));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x_MK = saved[0], &weight_NK = saved[1];
    const auto gradient_MN = gradients[0].contiguous();
    variable_list result(3);
    if (context->needs_input_grad(0)) {
      result[0] = at::empty_like(x_MK);
      widened_input_gradient(result[0], gradient_MN, weight_NK);
    }
    if (context->needs_input_grad(1)) {
      result[1] = at::empty_like(weight_NK);
      widened_weight_gradient(result[1], gradient_MN, x_MK, /*add=*/false);
    }
    const auto added = context->saved_data.find("added_rows");
    if (added != context->saved_data.end() && context->needs_input_grad(2))
      result[2] = added->second.toBool() ? gradient_MN : gradient_MN.sum(0);
    return result;
  }
};

}  // namespace

Bfloat16Products measured_bfloat16_products() {
  using enum Bfloat16Products;
  if (processor().amx_bfloat16) return kNative;
  const auto* known = std::ranges::find(kMeasured, processor().vendor, &MeasuredRatio::vendor);
  return processor().avx512_bfloat16 && known != std::end(kMeasured) && known->widened_over_native > 1 ? kNative
                                                                                                       : kWidened;
}

std::string processor_kind() {
  return processor().vendor + (processor().amx_bfloat16      ? " with AMX"
                               : processor().avx512_bfloat16 ? " with AVX-512 BF16"
                                                             : " without bfloat16 instructions");
}

bool has_amx() { return processor().amx_bfloat16; }

Bfloat16Products bfloat16_products() { return chosen().load(std::memory_order_relaxed); }

void use_bfloat16_products(Bfloat16Products products) { chosen() = products; }

at::Tensor product(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& added) {
  if (is_widened(x_MK) && !is_faster_native(x_MK, weight_NK))
    return WidenedProduct::apply(x_MK, weight_NK, added.defined() ? std::optional<at::Tensor>(added) : std::nullopt);
  if (is_faster_turned(x_MK, weight_NK)) {
    const auto turned_MN = at::mm(weight_NK, x_MK.t()).t();
    return added.defined() ? at::add(added.dim() == 1 ? added.expand_as(turned_MN).contiguous() : added, turned_MN)
                           : turned_MN.contiguous();
  }
  return added.defined() ? at::addmm(added, x_MK, weight_NK.t()) : at::mm(x_MK, weight_NK.t());
}

void product_out(const at::Tensor& out_MN, const at::Tensor& x_MK, const at::Tensor& weight_NK) {
  const at::NoGradGuard no_gradient;
  at::Tensor out = out_MN;
  is_widened(x_MK) ? widened_product_out(out, x_MK, weight_NK) : void(at::mm_out(out, x_MK, weight_NK.t()));
}

void input_gradient_out(const at::Tensor& out_MK, const at::Tensor& gradient_MN, const at::Tensor& weight_NK) {
  const at::NoGradGuard no_gradient;
  at::Tensor out = out_MK;
  is_widened(gradient_MN) ? widened_input_gradient(out, gradient_MN, weight_NK)
                          : void(at::mm_out(out, gradient_MN, weight_NK));
}

void weight_gradient_out(const at::Tensor& out_NK, const at::Tensor& gradient_MN, const at::Tensor& x_MK, bool add) {
  const at::NoGradGuard no_gradient;
  at::Tensor out = out_NK;
  if (is_widened(x_MK)) return widened_weight_gradient(out, gradient_MN, x_MK, add);
  if (out.scalar_type() == x_MK.scalar_type()) {
    add ? at::addmm_out(out, out, gradient_MN.t(), x_MK) : at::mm_out(out, gradient_MN.t(), x_MK);
    return;
  }
  if (out.is_cuda()) {
    add ? at::addmm_out(out, out, gradient_MN.t(), x_MK, at::kFloat)
        : at::mm_out(out, gradient_MN.t(), x_MK, at::kFloat);
    return;
  }
  constexpr std::int64_t kRows = 4096;  // computed in x's type before they are added in float32
  for (std::int64_t first = 0; first < out.size(0); first += kRows) {
    const std::int64_t rows = std::min(kRows, out.size(0) - first);
    const auto part = at::mm(gradient_MN.narrow(1, first, rows).t(), x_MK);
    auto sum = out.narrow(0, first, rows);
    add ? sum.add_(part) : sum.copy_(part);
  }
}

}  // namespace drift::kernels
