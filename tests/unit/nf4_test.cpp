// Weights in 4 bits: the numbers of bitsandbytes, from tests/unit/nf4_fixture.py.

#include "tests/support/tensors.h"

#include <core/io/safetensors.h>
#include <core/kernels/nf4.h>

#include <tests/support/support.h>

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

namespace drift::nf4_test {

using kernels::Nf4;

const SafetensorsFile& fixture() {
  static const SafetensorsFile file(test::source_dir() / "tests/unit/nf4_fixture.safetensors");
  return file;
}

class Nf4Case : public testing::TestWithParam<std::string> {
 protected:
  static at::Tensor stored(const std::string& what) { return fixture().tensor(GetParam() + "." + what).clone(); }

  /// What bitsandbytes packed.
  static Nf4 packed_elsewhere(bool is_double) {
    Nf4 packed;
    packed.count = stored("weight").numel();
    packed.codes = stored("codes");
    if (!is_double) {
      packed.scales = stored("scales");
      return packed;
    }
    packed.scale_codes = stored("scale_codes");
    packed.group_scales = stored("group_scales");
    packed.scale_offset = stored("scale_offset").item<float>();
    return packed;
  }
  static Nf4 packed_here(bool is_double) {
    bool finite = false;
    const Nf4 packed = kernels::nf4_pack(stored("weight"), is_double, finite);
    EXPECT_TRUE(finite);
    return packed;
  }
  static at::Tensor widened(const Nf4& packed) {
    auto values = at::full_like(stored("weight"), std::numeric_limits<double>::quiet_NaN());
    kernels::nf4_widen(packed, values);
    return values;
  }
};

TEST_P(Nf4Case, WidensToTheValuesOfBitsandbytes) {
  EXPECT_TRUE(at::equal(widened(packed_elsewhere(true)), stored("double.values")));
  EXPECT_TRUE(at::equal(widened(packed_elsewhere(false)), stored("single.values")));
}

TEST_P(Nf4Case, PacksToTheBytesOfBitsandbytes) {
  const Nf4 one = packed_here(false), two = packed_here(true);
  EXPECT_TRUE(at::equal(one.codes, stored("codes")));
  EXPECT_TRUE(at::equal(one.scales, stored("scales")));
  EXPECT_TRUE(at::equal(two.codes, stored("codes")));
  EXPECT_TRUE(at::equal(two.scale_codes, stored("scale_codes")));
  // A mean's last bit depends on the order of the sum, which is the machine's.
  EXPECT_FLOAT_EQ(two.scale_offset, stored("scale_offset").item<float>());
  EXPECT_TRUE(at::allclose(two.group_scales, stored("group_scales"), 1e-5, 1e-7));
  EXPECT_TRUE(at::allclose(widened(two).to(at::kFloat), stored("double.values").to(at::kFloat), 1e-5, 1e-9));
}

TEST_P(Nf4Case, TheLoopIsThePlainOperations) {
  for (const bool is_double : {false, true}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const Nf4 packed = packed_here(is_double);
      const auto loop = at::zeros({packed.count}, type), plain = at::zeros({packed.count}, type);
      kernels::nf4_widen(packed, loop);
      kernels::nf4_widen_reference(packed, plain);
      EXPECT_TRUE(at::equal(loop, plain)) << is_double << " " << type;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, Nf4Case,
                         testing::Values("normal", "several_groups", "no_multiple_of_a_block", "odd", "one", "outliers",
                                         "constant_blocks", "zeros", "zeros_and_a_part", "between_two_codes"),
                         [](const auto& info) { return info.param; });

TEST(Nf4, PackedAgainGivesTheSameBytes) {
  // Each block's largest size stays what it was, so that what is widened lies on codes.
  const auto weight = at::arange(40 * 64, at::kFloat).sin().view({40, 64});
  bool finite = false;
  const Nf4 packed = kernels::nf4_pack(weight, false, finite);
  const auto values = at::empty_like(weight);
  kernels::nf4_widen(packed, values);
  EXPECT_TRUE(at::equal(kernels::nf4_pack(values, false, finite).codes, packed.codes));
  EXPECT_LT((values - weight).abs().max().item<float>(), 0.16) << "half the widest gap between two codes";
}

TEST(Nf4, WhatIsNotFiniteIsSeen) {
  for (const double value : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::int64_t place : {0, 63, 64, 129}) {
      const auto weight = at::full({130}, 0.5);
      weight[place] = value;
      bool finite = true;
      kernels::nf4_pack(weight, true, finite);
      EXPECT_FALSE(finite) << value << " at " << place;
    }
  }
}

TEST(Nf4, TheThreadsDoNotChangeTheBytes) {
  const auto weight = (at::arange(300 * 1000, at::kFloat) * 0.37).sin().to(at::kBFloat16);
  const int threads = at::get_num_threads();
  bool finite = false;
  at::set_num_threads(1);
  const Nf4 alone = kernels::nf4_pack(weight, true, finite);
  at::set_num_threads(4);
  const Nf4 together = kernels::nf4_pack(weight, true, finite);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(alone.codes, together.codes) && at::equal(alone.scale_codes, together.scale_codes));
}

TEST(Nf4, TakesALittleMoreThanFourBitsAValue) {
  const auto weight = at::full({1 << 20}, 0.5);
  bool finite = false;
  for (const bool is_double : {false, true}) {
    const Nf4 packed = kernels::nf4_pack(weight, is_double, finite);
    std::size_t bytes = 0;
    for (const at::Tensor& part : {packed.codes, packed.scales, packed.scale_codes, packed.group_scales})
      bytes += part.defined() ? part.nbytes() : 0;
    EXPECT_EQ(kernels::nf4_bytes(weight.numel(), is_double), static_cast<std::int64_t>(bytes));
    EXPECT_NEAR(8.0 * static_cast<double>(bytes) / (1 << 20), is_double ? 4.127 : 4.5, 0.001);
  }
}

}  // namespace drift::nf4_test
