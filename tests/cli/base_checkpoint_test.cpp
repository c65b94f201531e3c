// Makes the base model of the tests that train, once for all of them.

#include <tests/support/training_run.h>

#include <gtest/gtest.h>

namespace drift::base_checkpoint_test {
namespace {

TEST(BaseCheckpoint, IsMadeByPretraining) {
  test::make_base_checkpoint();
  EXPECT_TRUE(std::filesystem::exists(test::base_checkpoint() / "model.safetensors"));
}

}  // namespace
}  // namespace drift::base_checkpoint_test
