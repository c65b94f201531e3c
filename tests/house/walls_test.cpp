// Who may know whom (CONTRIBUTING.md, "The walls"). Each test lists the lines that break one rule.

#include <regex>

#include "tests/support/support.h"

namespace drift::test::walls_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

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
  return extension == ".h" || extension == ".hpp" || extension == ".c" || extension == ".cpp" || extension == ".cu";
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
      "rldf|llada|sudoku|countdown|word_?problems|tracerl|coupled_?grpo|gsm8k|humaneval|(^|[^a-z0-9])(espo|dream|d1|"
      "mbpp)([^a-z0-9]|$"
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

TEST(Walls, NoFileIncludesAllOfTorch) {
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

TEST(Walls, NothingIncludesTheCommandLine) {
  const auto knows_it = [](const std::string& file, const std::string& included) {
    return included.starts_with("core/cli/") && !file.starts_with("core/cli/");
  };
  EXPECT_THAT(includes_that("core", knows_it), IsEmpty());
  EXPECT_THAT(includes_that("plugins", knows_it), IsEmpty());
}

TEST(Walls, PluginsIncludePublicHeadersAndBackbonesAlsoTheTransformerParts) {
  EXPECT_THAT(
      includes_that("plugins",
                    [](const std::string& file, const std::string& included) {
                      const bool transformer_part =
                          included.starts_with("core/nn/") || included.starts_with("core/kernels/");
                      const bool other_room = included.starts_with("core/") || included.starts_with("plugins/") ||
                                              included.starts_with("../");
                      const bool process_part = included == "core/base/child_process.h" ||
                                                included == "core/base/descriptor.h" ||
                                                included == "core/base/plain_threads.h";
                      return other_room && !(transformer_part && file.starts_with("plugins/models/")) &&
                             !(process_part && file.starts_with("plugins/rewards/code/")) &&
                             !(included.starts_with("core/python/") && file.starts_with("plugins/python/")) &&
                             !(included == "core/base/question_key.h" && file.starts_with("plugins/tasks/dataset/"));
                    }),
      IsEmpty());
}

// It could leave the tree as it is; that it builds by itself is the test math_answers_alone.
TEST(Walls, TheLibraryForMathematicalAnswersNamesNothingOfThisProject) {
  const fs::path folder = source_dir() / "plugins/rewards/math/math_answers";
  const std::regex name("drift", std::regex::icase);
  std::vector<std::string> breaches;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && std::regex_search(read_file(entry.path()), name)) breaches.push_back(entry.path());
  }
  EXPECT_THAT(breaches, IsEmpty());
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

// docs/architecture.md: its table says which folder may include which, its picture puts a folder above those that it
// includes.

/// Folder -> the folders that its files include, or may include.
using Includes = std::map<std::string, std::set<std::string>>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Every match of `pattern` in `text`: its first group.
std::vector<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

/// The rows "| [`folder`](link) | job | `folder` `folder` |" of a page. A folder of the core is named in the last
/// column without `core/`.
Includes table_of(const std::string& page) {
  static const std::regex row(R"(\| \[`([^`]+)`\]\([^)]*\) \|[^|]*\|([^|]*)\|)"), name("`([^`]+)`");
  std::map<std::string, std::string> cells;
  std::smatch match;
  for (const std::string& line : lines_of(page)) {
    if (std::regex_match(line, match, row)) cells[match[1]] = match[2];
  }
  Includes table;
  for (const auto& [folder, allowed] : cells) {
    table[folder];
    for (const std::string& other : matches(allowed, name)) {
      table[folder].insert(cells.contains("core/" + other) ? "core/" + other : other);
    }
  }
  return table;
}

/// Each folder's band in the page's first picture with a frame, counted from the top.
std::map<std::string, int> picture_of(const std::string& page, const Includes& table) {
  static const std::regex word("([a-z_/]+)");
  std::map<std::string, int> bands;
  int band = -1;
  for (const std::string& line : lines_of(page)) {
    if (line.find("┌") != std::string::npos || line.find("├") != std::string::npos) ++band;
    if (line.find("└") != std::string::npos) break;
    if (band < 0) continue;
    for (const std::string& folder : matches(line, word)) {
      if (table.contains(folder)) bands[folder] = band;
    }
  }
  return bands;
}

/// The table's folder that contains a file, the longest that fits; empty: none.
std::string folder_of(const std::string& file, const Includes& table) {
  std::string folder;
  for (const auto& [name, allowed] : table) {
    if (file.starts_with(name + "/") && name.size() > folder.size()) folder = name;
  }
  return folder;
}

/// The file of the source tree that an #include means; empty if it comes from elsewhere. What only an include folder of
/// CMake finds is a plugin's own header, or one of a library below it: no other folder is one. Of several with that
/// name it is the one next to the includer.
std::string file_of(const std::string& includer, const std::string& included) {
  static const std::map<std::string, std::set<std::string>> headers_of_plugins = [] {
    std::map<std::string, std::set<std::string>> files;
    for (const auto& entry : fs::recursive_directory_iterator(source_dir() / "plugins")) {
      if (entry.path().extension() == ".h")
        files[entry.path().filename()].insert(entry.path().lexically_relative(source_dir()));
    }
    return files;
  }();
  if (included.starts_with("drift/")) return "core/include/" + included;
  if (fs::exists(source_dir() / included)) return included;
  const auto beside = (fs::path(includer).parent_path() / included).lexically_normal();
  if (fs::exists(source_dir() / beside)) return beside;
  const auto found = headers_of_plugins.find(included);
  if (found == headers_of_plugins.end()) return "";
  const auto shared = [&](const std::string& file) {
    return std::mismatch(file.begin(), file.end(), includer.begin(), includer.end()).first - file.begin();
  };
  return *std::max_element(found->second.begin(), found->second.end(),
                           [&](const std::string& a, const std::string& b) { return shared(a) < shared(b); });
}

/// What the files of each folder of the table really include, and the lines that do so.
struct RealIncludes {
  Includes folders;
  std::vector<std::string> not_allowed;
  std::vector<std::string> outside;  ///< files in no folder of the table
};
RealIncludes real_includes(const Includes& table) {
  RealIncludes real;
  for (const char* top : {"core", "plugins", "sdk", "tests", "bench"}) {
    for (const Line& line : lines_under(top)) {
      const std::string folder = folder_of(line.file, table);
      if (folder.empty() && line.number == 1) real.outside.push_back(line.file);
      const std::string included = included_file(line.text);
      const std::string file = included.empty() ? "" : file_of(line.file, included);
      if (folder.empty() || file.empty()) continue;
      const std::string other = folder_of(file, table);
      if (other == folder) continue;
      real.folders[folder].insert(other);
      if (!table.at(folder).contains(other)) real.not_allowed.push_back(describe(line));
    }
  }
  return real;
}

class Architecture : public testing::Test {
 protected:
  const std::string page_ = read_file(source_dir() / "docs/architecture.md");
  const Includes table_ = table_of(page_);
  const RealIncludes real_ = real_includes(table_);
};

TEST(ArchitecturePage, ItsTableIsRead) {
  const auto table = table_of(
      "| folder | job | may include |\n|---|---|---|\n| [`core/a`](../core/a) | base | |\n"
      "| [`b`](../b) | uses `core/a` | `a` |\n");
  EXPECT_THAT(table, ElementsAre(Pair("b", ElementsAre("core/a")), Pair("core/a", IsEmpty())));
}

TEST(ArchitecturePage, ItsPictureIsRead) {
  const Includes table = {{"core/a", {}}, {"b", {}}};
  EXPECT_THAT(picture_of("b\n┌──┐\n│ b │\n├──┤\n│ core/a │\n└──┘\n│ b │\n", table),
              ElementsAre(Pair("b", 0), Pair("core/a", 1)));
}

TEST_F(Architecture, EveryFileIsInAFolderOfTheTable) {
  EXPECT_THAT(real_.outside, IsEmpty());
  for (const auto& [folder, allowed] : table_) EXPECT_TRUE(fs::is_directory(source_dir() / folder)) << folder;
}

TEST_F(Architecture, FoldersIncludeWhatTheTableAllows) { EXPECT_THAT(real_.not_allowed, IsEmpty()); }

TEST_F(Architecture, EveryAllowanceIsUsed) {
  std::vector<std::string> unused;
  for (const auto& [folder, allowed] : table_) {
    for (const std::string& other : allowed) {
      const auto found = real_.folders.find(folder);
      if (found == real_.folders.end() || !found->second.contains(other)) unused.push_back(folder + " -> " + other);
    }
  }
  EXPECT_THAT(unused, IsEmpty());
}

// No folder includes one of its own band, so there are no cycles.
TEST_F(Architecture, InThePictureFoldersStandAboveWhatTheyInclude) {
  const auto band = picture_of(page_, table_);
  std::vector<std::string> breaches;
  for (const auto& [folder, allowed] : table_) {
    if (!band.contains(folder)) breaches.push_back(folder + " is missing");
  }
  ASSERT_THAT(breaches, IsEmpty());
  for (const auto& [folder, others] : real_.folders) {
    for (const std::string& other : others) {
      if (band.at(folder) >= band.at(other)) breaches.push_back(folder + " -> " + other);
    }
  }
  EXPECT_THAT(breaches, IsEmpty());
}

}  // namespace
}  // namespace drift::test::walls_test
