#include <core/nn/projection.h>

#include <core/kernels/product.h>
#include <core/nn/packed_product.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include <cassert>

namespace drift::nn {
namespace {

at::Tensor without_adapter(const at::Tensor& x_MI, const Projection& projection, const at::Tensor& added_MO) {
  assert(!(projection.bias.defined() && added_MO.defined()));
  const at::Tensor& added = added_MO.defined() ? added_MO : projection.bias;
  if (projection.packed) return packed_product(x_MI, projection.packed, added);
  return kernels::product(x_MI, projection.weight, added);
}

}  // namespace

AdapterUse AdapterUse::select(const at::Tensor& rows_N) const {
  if (!rows_N.defined()) return *this;
  const auto chosen = [&](const at::Tensor& one) { return one.defined() ? one.index_select(0, rows_N) : one; };
  return {on, chosen(adapted_M1), chosen(dropout_key_M)};
}

at::Tensor project(const at::Tensor& x_MI, const Projection& projection, const AdapterUse& use,
                   const at::Tensor& added_MO) {
  const auto plain_MO = without_adapter(x_MI, projection, added_MO);
  const LowRank& adapter = projection.adapter;
  if (!adapter.a.defined() || !use.on) return plain_MO;
  auto low_MR = kernels::product(x_MI, adapter.a);
  if (use.adapted_M1.defined()) low_MR = low_MR * use.adapted_M1;
  return at::addmm(plain_MO, low_MR, adapter.b.t(), /*beta=*/1, /*alpha=*/adapter.scale);
}

}  // namespace drift::nn
