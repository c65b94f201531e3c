#include <core/plugin/plugin_loader.h>

#include <tests/support/support.h>

#include <gmock/gmock.h>

namespace drift {
namespace {

const std::filesystem::path kPlugins = test::build_dir() / "tests" / "plugins";

TEST(PluginLoader, LoadsAPluginAndRegistersWhatItBrings) {
  Registry registry;
  PluginLoader loader(registry);
  loader.load_file(kPlugins / "libtest_soft_clip.so");

  ASSERT_EQ(loader.loaded().size(), 1u);
  EXPECT_EQ(loader.loaded()[0].name, "soft_clip");
  EXPECT_EQ(loader.loaded()[0].version, "1.0.0");
  EXPECT_EQ(loader.loaded()[0].licence, "Apache-2.0");
  const ComponentEntry* loss = registry.find(ComponentKind::kLossEstimator, "soft_clip");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->plugin, "soft_clip");
  EXPECT_NE(loss->create(Params(loss->params), nullptr), nullptr);
}

}  // namespace
}  // namespace drift
