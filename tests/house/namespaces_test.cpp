// Where the names of plugins and of tests live (CONTRIBUTING.md, "Style, with reasons"). The layout puts whatever
// opens, closes or stands outside a namespace at the beginning of a line.

#include <cctype>
#include <regex>

#include "tests/support/support.h"

namespace drift::test::namespaces_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

bool registers(const std::string& text) { return ("\n" + text).find("\nDRIFT_PLUGIN(") != std::string::npos; }

/// The lines of a plugin's file that break the rule. `own`: the namespace for what several files share.
std::vector<std::string> breaches(const std::string& file, const std::string& text, const std::string& own,
                                  bool is_alone) {
  static const std::regex opening(R"((?:inline )?namespace ?(\S*) \{.*)");
  std::vector<std::string> found;
  std::istringstream lines(text);
  int depth = 0, number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    bool right = !(file.ends_with(".h") && line.find("using namespace") != std::string::npos);
    if (std::regex_match(line, match, opening)) {
      const bool may_be_hidden = depth > 0 || registers(text);
      right = match[1] == "" ? may_be_hidden : depth > 0 || (match[1] == own && !is_alone);
      ++depth;
    } else if (line.starts_with("}  // namespace")) {
      --depth;
    } else if (depth == 0 && !line.empty() && (std::isalpha(line[0]) || line[0] == '[')) {
      right = right && line.starts_with("DRIFT_PLUGIN(");
    }
    if (!right) found.push_back(file + ":" + std::to_string(number) + ": " + line);
  }
  return found;
}

/// The C++ files of each plugin, by its folder.
std::map<fs::path, std::map<std::string, std::string>> plugins() {
  std::map<fs::path, std::map<std::string, std::string>> folders;
  for (const auto& entry : fs::recursive_directory_iterator(source_dir() / "plugins")) {
    const auto& path = entry.path();
    if (path.extension() == ".h" || path.extension() == ".cpp")
      folders[path.parent_path()][path.filename()] = read_file(path);
  }
  std::erase_if(folders, [](const auto& folder) {  // a library that a plugin uses
    return std::none_of(folder.second.begin(), folder.second.end(),
                        [](const auto& file) { return registers(file.second); });
  });
  return folders;
}

TEST(Namespaces, BreachesAreFound) {
  const auto of_several = [](const std::string& file, const std::string& text) {
    return breaches(file, text, "drift::some", false);
  };
  EXPECT_THAT(of_several("a.cpp", "namespace drift::some {\nnamespace {\nint a;\n}  // namespace\n}  // namespace\n"),
              IsEmpty());
  EXPECT_THAT(of_several("a.cpp", "namespace {\n}  // namespace\nDRIFT_PLUGIN(\"some\", \"1\", \"MIT\") {\n}\n"),
              IsEmpty());
  EXPECT_THAT(of_several("a.cpp", "namespace some {\n"), ElementsAre("a.cpp:1: namespace some {"));
  EXPECT_THAT(of_several("a.cpp", "namespace {\n"), ElementsAre("a.cpp:1: namespace {"));
  EXPECT_THAT(of_several("a.h", "#pragma once\nclass A {};\n"), ElementsAre("a.h:2: class A {};"));
  EXPECT_THAT(of_several("a.h", "namespace drift::some {\nusing namespace std;\n"),
              ElementsAre("a.h:2: using namespace std;"));
  EXPECT_THAT(breaches("a.cpp", "namespace drift::some {\n", "drift::some", true),
              ElementsAre("a.cpp:1: namespace drift::some {"));
}

TEST(Namespaces, APluginOfSeveralFilesHasItsOwnAndOneOfOneFileNone) {
  const auto folders = plugins();
  EXPECT_GT(folders.size(), 10u);
  std::vector<std::string> found;
  for (const auto& [folder, files] : folders) {
    for (const auto& [file, text] : files) {
      const std::string where = (folder / file).lexically_relative(source_dir()).string();
      const auto here = breaches(where, text, "drift::" + folder.filename().string(), files.size() == 1);
      found.insert(found.end(), here.begin(), here.end());
    }
  }
  EXPECT_THAT(found, IsEmpty());
}

// The files of a test program are compiled together.
TEST(Namespaces, ATestFileHasItsOwn) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source_dir() / "tests")) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() != ".cpp" || !name.ends_with("_test")) continue;
    EXPECT_THAT(read_file(entry.path()), testing::ContainsRegex("\nnamespace drift[a-z:]*::" + name + " "))
        << entry.path();
    ++files;
  }
  EXPECT_GT(files, 100);
}

// What stands beside a nightly test decides whether it runs by day.
TEST(NightlyTests, NameFilesThatAreThere) {
  std::istringstream list(read_file(source_dir() / "tests/nightly"));
  int paths = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string path; words >> path; ++paths) EXPECT_TRUE(fs::exists(source_dir() / path)) << path;
  }
  EXPECT_GT(paths, 10);
}

}  // namespace
}  // namespace drift::test::namespaces_test
