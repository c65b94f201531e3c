// Who may know whom (CONTRIBUTING.md, "The walls"). Each test lists the lines that break one rule.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/support.h"

namespace drift::test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

struct Line {
  std::string file;  ///< relative to the source tree
  int number = 0;
  std::string text;
};

std::string describe(const Line& line) { return line.file + ":" + std::to_string(line.number) + ": " + line.text; }

/// The file that an #include names; empty for any other line.
std::string included_file(const std::string& text) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  std::smatch match;
  return std::regex_match(text, match, include) ? match[1].str() : "";
}

bool is_source(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".h" || extension == ".cpp" || extension == ".cu";
}

/// Every line of the C++ files under `folder` of the source tree.
std::vector<Line> lines_under(const std::string& folder) {
  std::vector<Line> lines;
  for (const auto& entry : fs::recursive_directory_iterator(source_dir() / folder)) {
    if (!is_source(entry.path())) continue;
    std::ifstream file(entry.path());
    std::string text;
    for (int number = 1; std::getline(file, text); ++number) {
      lines.push_back({entry.path().lexically_relative(source_dir()).string(), number, text});
    }
  }
  return lines;
}

/// The lines under `folder` for which `is_breach(file, included)` holds; lines that include nothing are not asked
/// about.
template <typename IsBreach>
std::vector<std::string> includes_that(const std::string& folder, IsBreach is_breach) {
  std::vector<std::string> breaches;
  for (const Line& line : lines_under(folder)) {
    const std::string included = included_file(line.text);
    if (!included.empty() && is_breach(line.file, included)) breaches.push_back(describe(line));
  }
  return breaches;
}

/// Names of algorithms, models and tasks: what a plugin is for, and the core must not know. The short ones count as
/// whole words.
bool names_a_plugin(const std::string& text) {
  static const std::regex names(
      "rldf|llada|sudoku|countdown|tracerl|coupled_?grpo|gsm8k|humaneval|(^|[^a-z0-9])(espo|dream|d1|mbpp)([^a-z0-9]|$"
      ")",
      std::regex::icase | std::regex::optimize);
  return std::regex_search(text, names);
}

TEST(Walls, IncludesAreRecognised) {
  EXPECT_EQ(included_file("#include <drift/error.h>"), "drift/error.h");
  EXPECT_EQ(included_file(R"(#  include "decoder.h"  // why)"), "decoder.h");
  EXPECT_EQ(included_file("// #include <drift/error.h>"), "");
}

TEST(Walls, NamesAreRecognised) {
  EXPECT_TRUE(names_a_plugin("// as RLDF does it"));
  EXPECT_TRUE(names_a_plugin("class LLaDAConfig;"));
  EXPECT_TRUE(names_a_plugin("if (name == \"espo\")"));
  EXPECT_FALSE(names_a_plugin("the responses of a group"));
  EXPECT_FALSE(names_a_plugin("const auto id1 = 0;"));
}

TEST(Walls, TheCoreNamesNoAlgorithmModelOrTask) {
  std::vector<std::string> breaches;
  for (const Line& line : lines_under("core")) {
    if (names_a_plugin(line.text)) breaches.push_back(describe(line));
  }
  EXPECT_THAT(breaches, IsEmpty());
}

TEST(Walls, NobodyIncludesTheWholeOfTorch) {
  for (const char* folder : {"core", "plugins", "sdk", "tests"}) {
    EXPECT_THAT(includes_that(folder,
                              [](const std::string&, const std::string& included) {
                                return included == "torch/torch.h" || included == "torch/all.h" ||
                                       included == "torch/extension.h" || included == "ATen/ATen.h";
                              }),
                IsEmpty());
  }
}

TEST(Walls, PublicHeadersKnowOnlyEachOtherTensorsAndTheStandardLibrary) {
  EXPECT_THAT(includes_that("core/include",
                            [](const std::string&, const std::string& included) {
                              return included.find('/') != std::string::npos && !included.starts_with("drift/") &&
                                     !included.starts_with("ATen/") && !included.starts_with("c10/") &&
                                     !included.starts_with("torch/headeronly/");
                            }),
              IsEmpty());
}

TEST(Walls, TheCoreKnowsNoPlugin) {
  EXPECT_THAT(
      includes_that("core", [](const std::string&,
                               const std::string& included) { return included.find("plugins/") != std::string::npos; }),
      IsEmpty());
}

TEST(Walls, NobodyKnowsTheCommandLine) {
  const auto knows_it = [](const std::string& file, const std::string& included) {
    return included.starts_with("core/cli/") && !file.starts_with("core/cli/");
  };
  EXPECT_THAT(includes_that("core", knows_it), IsEmpty());
  EXPECT_THAT(includes_that("plugins", knows_it), IsEmpty());
}

TEST(Walls, PluginsKnowThePublicHeadersAndBackbonesTheTransformerPartsToo) {
  EXPECT_THAT(includes_that("plugins",
                            [](const std::string& file, const std::string& included) {
                              const bool transformer_part =
                                  included.starts_with("core/nn/") || included.starts_with("core/kernels/");
                              const bool other_room = included.starts_with("core/") ||
                                                      included.starts_with("plugins/") || included.starts_with("../");
                              return other_room && !(transformer_part && file.starts_with("plugins/models/"));
                            }),
              IsEmpty());
}

TEST(Walls, ExamplesOfTheSdkKnowOnlyThePublicHeaders) {
  EXPECT_THAT(includes_that("sdk",
                            [](const std::string&, const std::string& included) {
                              return included.starts_with("core/") || included.starts_with("plugins/");
                            }),
              IsEmpty());
}

// spdlog's fmt and the one in LibTorch's include folder do not mix: files that log keep it to themselves.
TEST(Walls, NoHeaderIncludesTheLoggingLibrary) {
  EXPECT_THAT(includes_that("core",
                            [](const std::string& file, const std::string& included) {
                              return file.ends_with(".h") && included.starts_with("spdlog/");
                            }),
              IsEmpty());
}

// Whoever has the tree has all that it cites; data of others comes by scripts/fetch_data.
TEST(Walls, NothingLeadsOutOfTheTree) {
  const std::string outside = std::string("../") + "shared";
  std::vector<std::string> breaches;
  for (const char* folder :
       {".ci", "bench", "cmake", "configs", "core", "docs", "plugins", "scripts", "sdk", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_dir() / folder)) {
      if (entry.is_regular_file() && read_file(entry.path()).find(outside) != std::string::npos)
        breaches.push_back(entry.path().lexically_relative(source_dir()).string());
    }
  }
  EXPECT_THAT(breaches, IsEmpty());
}

}  // namespace
}  // namespace drift::test
