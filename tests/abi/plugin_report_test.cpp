// The texts of `drift plugin list`, `info`, `docs` and `check`.

#include <core/plugin/plugin_page.h>
#include <core/plugin/plugin_report.h>

#include <drift/error.h>

#include <tests/abi/plugin_files.h>
#include <tests/support/support.h>

namespace drift::plugin_report_test {

using namespace testing;

class PluginReport : public testing::Test {
 protected:
  PluginReport() : loader(registry) {
    loader.load_file(test::built_plugin("test_soft_clip"));
    loader.load_file(test::built_plugin("test_probe"));
  }
  static std::string file(const std::string& name) {
    return std::filesystem::canonical(test::built_plugin(name)).string();
  }

  Registry registry;
  PluginLoader loader;
};

TEST_F(PluginReport, ListsEverythingInATableThatLinesUp) {
  EXPECT_EQ(plugin_list(registry, loader),
            "kind       name       version  tier    plugin file\n"
            "algorithm  probe      1.2.3    tensor  " +
                file("test_probe") +
                "\n"
                "loss       probe      1.2.3    tensor  " +
                file("test_probe") +
                "\n"
                "loss       soft_clip  1.0.0    tensor  " +
                file("test_soft_clip") + "\n");
}

TEST_F(PluginReport, InfoShowsAComponentsParameters) {
  EXPECT_EQ(plugin_info(registry, loader, "soft_clip"),
            "loss `soft_clip`\n"
            "  PPO with a smooth clip.\n"
            "  plugin  soft_clip 1.0.0 (Apache-2.0, tier tensor)  " +
                file("test_soft_clip") +
                "\n"
                "\n"
                "  parameter  type    default  range  meaning\n"
                "  width      number  4.0      >= 0   curvature of the weight\n");
}

TEST_F(PluginReport, InfoShowsAnAlgorithmsPartsAndPresets) {
  Algorithm algorithm{.name = "mine",
                      .doc = "An algorithm.",
                      .paper = "Author 2026",
                      .masking = "any",
                      .loss = "soft_clip",
                      .presets = {},
                      .plugin = ""};
  algorithm.presets = {{"paper", "paper.toml", R"(description = "as published"
train.learning_rate = 1e-6
advantage.std = "sample"
optional.rollout.top_p = 0.9
notes.train.learning_rate = "for adapters"
)"},
                       {"plain", "plain.toml", "description = \"nothing\"\n"}};
  registry.add_algorithm(algorithm);
  EXPECT_EQ(plugin_info(registry, loader, "mine"),
            "algorithm `mine`\n"
            "  An algorithm.\n"
            "  paper    Author 2026\n"
            "  masking  any\n"
            "  loss     soft_clip\n"
            "  plugin   built in\n"
            "\n"
            "  preset `paper` (default): as published\n"
            "    advantage.std        =  \"sample\"\n"
            "    rollout.top_p        =  0.9       only where the rollout has it\n"
            "    train.learning_rate  =  1e-6\n"
            "    note: train.learning_rate was for adapters\n"
            "\n"
            "  preset `plain`: nothing\n"
            "    no settings of its own\n");
}

TEST_F(PluginReport, DocsAreAPageOfMarkdown) {
  EXPECT_EQ(plugin_page(registry, loader, "soft_clip"), R"(# soft_clip

## Loss `soft_clip`

PPO with a smooth clip.
Plugin `soft_clip` 1.0.0, Apache-2.0, `libtest_soft_clip.so`.

```toml
[algorithm.loss]
name = "soft_clip"
width = 4.0
```

| parameter | type | default | range | meaning |
| --- | --- | --- | --- | --- |
| `width` | number | `4.0` | `>= 0` | curvature of the weight |
)");
}

TEST_F(PluginReport, DocsOfAnAlgorithmHaveItsPartsAndPresets) {
  registry.add_algorithm({.name = "mine",
                          .doc = "An algorithm.",
                          .paper = "A paper",
                          .masking = "span_masks",
                          .loss = "soft_clip",
                          .presets = {{"paper", "mine/presets/paper.toml", "description = \"as published\"\n", {}}},
                          .plugin = {}});
  const std::string page = plugin_page(registry, loader, "mine");
  EXPECT_THAT(page, StartsWith("# mine\n\n## Algorithm `mine`\n\nAn algorithm.\nBuilt in.\nPaper: A paper.\n"
                               "Masking strategy `span_masks`, loss `soft_clip`.\n\n```toml\n[algorithm]\n"
                               "name = \"mine\"\npreset = \"paper\"\n```\n"));
  EXPECT_THAT(page, HasSubstr("as published"));
  EXPECT_THROW(plugin_page(registry, loader, "soft_clap"), Error);
}

TEST_F(PluginReport, InfoOfAnUnknownNameSaysWhatThereIs) {
  EXPECT_EQ(test::error_of([&] { plugin_info(registry, loader, "soft_clap"); }),
            "there is no algorithm, component or plugin `soft_clap` | did you mean `soft_clip`?\n"
            "  = names: probe, soft_clip    (drift plugin list)");
  EXPECT_EQ(test::error_of([&] { plugin_info(registry, loader, "entirely_different"); }),
            "there is no algorithm, component or plugin `entirely_different` | names: probe, soft_clip    "
            "(drift plugin list)");
}

TEST_F(PluginReport, TheSummaryDescribesAPlugin) {
  EXPECT_THAT(plugin_summary(registry, loader.loaded().front()),
              AllOf(StartsWith("plugin     soft_clip 1.0.0\nlicence    Apache-2.0\n"),
                    HasSubstr("loss       soft_clip, 1 parameter\n")));
}

TEST(PluginDeclarations, EverythingThatIsWrong) {
  EXPECT_THAT(declaration_mistakes(test::registry_of("soft_clip")), testing::IsEmpty());
  EXPECT_THAT(declaration_mistakes(test::registry_of("careless")),
              testing::UnorderedElementsAre(
                  "masking strategy `careless` has no documentation",
                  "parameter `rate` of masking strategy `outside` has no documentation",
                  "the default of parameter `rate` of masking strategy `outside` must be in [0, 1], not 2"));
  EXPECT_THAT(declaration_mistakes(Registry()), testing::ElementsAre("it registers nothing"));
}

}  // namespace drift::plugin_report_test
