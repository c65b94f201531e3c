// Where LibTorch's tensors get their memory, after the program has chosen (core/base/tensor_memory.h).

#include "tests/support/tensors.h"

#include <core/base/tensor_memory.h>

#include <ATen/ops/mm.h>
#include <c10/core/CPUAllocator.h>

#include <gtest/gtest.h>

namespace drift::tensor_memory_test {

constexpr std::int64_t kLarge = 8 << 20, kSmall = 1 << 10;  // elements

class TensorMemory : public testing::Test {
 protected:
  void SetUp() override {
    static const bool once = (keep_memory_of_large_tensors(), true);
    EXPECT_TRUE(once);
    if (c10::GetCPUAllocator() == c10::GetDefaultCPUAllocator()) GTEST_SKIP() << "the allocator is left as it is";
  }
};

TEST_F(TensorMemory, OfALargeTensorGoesToTheNextOne) {
  const void* first = at::empty({kLarge}).data_ptr();
  EXPECT_EQ(at::empty({kLarge}).data_ptr(), first);
}

TEST_F(TensorMemory, HoldsValuesOfTensorsOfAnySize) {
  const auto large = at::ones({kLarge}), small = at::ones({kSmall}), none = at::ones({0});
  const auto grown = small.clone();
  grown.resize_({kLarge}).fill_(2);
  EXPECT_EQ(large.sum().item<float>(), static_cast<float>(kLarge));
  EXPECT_EQ(grown.mean().item<float>(), 2);
  EXPECT_EQ(none.numel(), 0);
}

// Products of bfloat16 take workspaces without a tensor.
TEST_F(TensorMemory, IsThereForWorkspacesOfProducts) {
  const auto a = at::ones({2048, 1024}, at::kBFloat16);
  EXPECT_EQ(at::mm(a, a.t())[5][7].item<float>(), 1024);
  void* block = c10::GetCPUAllocator()->raw_allocate(kLarge);
  ASSERT_NE(block, nullptr);
  c10::GetCPUAllocator()->raw_deallocate(block);
  c10::GetCPUAllocator()->raw_deallocate(c10::GetCPUAllocator()->raw_allocate(kSmall));
}

TEST_F(TensorMemory, ThatIsNotThereIsAnError) { EXPECT_THROW(at::empty({std::int64_t{1} << 58}), c10::Error); }

}  // namespace drift::tensor_memory_test
