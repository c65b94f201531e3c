// Makes the base model of the tests that train, once for all of them.

#include <tests/support/training_run.h>

namespace drift::base_checkpoint_test {

using namespace test;
using namespace testing;

TEST(BaseCheckpoint, IsMadeByPretraining) {
  make_base_checkpoint();
  EXPECT_TRUE(std::filesystem::exists(base_checkpoint() / "model.safetensors"));
}

}  // namespace drift::base_checkpoint_test
