// scripts/fetch_data, on made-up files in a separate tree: copied and downloaded, right, wrong and truncated.

#include <regex>

#include "tests/support/support.h"

namespace drift::test::fetch_data_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// Every file below a folder, by its path from there.
std::set<std::string> files_below(const fs::path& folder) {
  std::set<std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().filename() != ".lock")
      files.insert(entry.path().lexically_relative(folder).string());
  }
  return files;
}

class FetchData : public testing::Test {
 protected:
  FetchData() {
    fs::create_directories(tree() / "scripts");
    fs::copy(source_dir() / "scripts/fetch_data", tree() / "scripts/fetch_data");
    // Stands for the network: an address is a path; what is called cut-short breaks off.
    const fs::path curl = folder_.path() / "bin/curl";
    write_file(curl,
               "#!/usr/bin/env bash\n"
               "address=${*: -1} target=${*: -2:1}\n"
               "[[ $address != *cut-short* ]] || { printf 'the fir' >\"$target\"; exit 18; }\n"
               "cp \"$address\" \"$target\"\n");
    fs::permissions(curl, fs::perms::owner_all);
    list("first.json", "the first", "net/first.json");
    list("words/second.txt", "the second", "net/published-second.txt");
  }

  fs::path tree() const { return folder_.path() / "tree"; }
  fs::path data() const { return tree() / "data"; }
  /// One more line of the list: `file` must hold `content`, and lies at `address` below the test's folder.
  void list(const std::string& file, const std::string& content, const std::string& address) const {
    write_file(folder_.path() / "content", content);
    const auto sum = run_command("sha256sum <" + (folder_.path() / "content").string()).output.substr(0, 64);
    std::ofstream(tree() / "scripts/fetch_data.list", std::ios::app)
        << "# a comment\n\n"
        << file << "  " << sum << "  MIT  " << (folder_.path() / address).string() << "\n";
  }
  void put(const std::string& path, const std::string& content) const { write_file(folder_.path() / path, content); }
  CommandResult fetch(const std::string& arguments, const std::string& environment = "DRIFT_DATA=") const {
    return run_command("cd " + folder_.path().string() + " && PATH=" + folder_.path().string() + "/bin:$PATH " +
                       environment + " tree/scripts/fetch_data " + arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(FetchData, CopiesFromAnyFolderByEitherName) {
  put("mine/deep/down/first.json", "the first");
  put("mine/published-second.txt", "the second");
  const auto result = fetch("--from mine");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("2 of 2 files are in "));
  EXPECT_THAT(files_below(data()), UnorderedElementsAre("first.json", "words/second.txt"));
  EXPECT_EQ(read_file(data() / "words/second.txt"), "the second");
}

TEST_F(FetchData, RunsAgainWithoutTheSource) {
  put("mine/first.json", "the first");
  put("mine/second.txt", "the second");
  ASSERT_EQ(fetch("", "DRIFT_DATA=mine").status, 0);
  fs::remove_all(folder_.path() / "mine");
  const auto again = fetch("");
  EXPECT_EQ(again.status, 0) << again.error;
  EXPECT_THAT(again.output, testing::StartsWith("2 of 2 files are in "));
}

TEST_F(FetchData, OfSeveralFilesOfANameTheRightOneIsTaken) {
  for (const char* folder : {"mine/a/", "mine/b/", "mine/c/"})
    put(std::string(folder) + "first.json", folder == std::string("mine/b/") ? "the first" : "another");
  EXPECT_EQ(fetch("--from=mine first.json").status, 0);
  EXPECT_EQ(read_file(data() / "first.json"), "the first");
}

TEST_F(FetchData, RefusesWhatDiffers) {
  put("mine/first.json", "the first, edited");
  put("mine/second.txt", "the second");
  const auto result = fetch("--from mine");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error,
              AllOf(HasSubstr("data/first.json: refused: "), HasSubstr("mine/first.json has the sha256 ")));
  EXPECT_THAT(result.output, HasSubstr("1 of 2 files are in "));
  EXPECT_THAT(files_below(data()), UnorderedElementsAre("words/second.txt"));
}

TEST_F(FetchData, SaysWhatAFolderLacks) {
  put("mine/second.txt", "the second");
  const auto result = fetch("--from mine");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("data/first.json: not found below "));
  EXPECT_TRUE(fs::exists(data() / "words/second.txt"));
}

TEST_F(FetchData, DownloadsCompletelyOrNotAtAll) {
  list("third.json", "the third", "net/cut-short.json");
  put("net/first.json", "the first");
  put("net/published-second.txt", "an error page");
  const auto result = fetch("");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("1 of 3 files are in "));
  EXPECT_THAT(result.error,
              AllOf(HasSubstr("data/words/second.txt: refused: "), HasSubstr("data/third.json: could not be fetched "),
                    HasSubstr("net/cut-short.json\n"), HasSubstr("--from DIR")));
  EXPECT_THAT(files_below(data()), UnorderedElementsAre("first.json"));
}

TEST_F(FetchData, AFileOfTheUsersIsLeftAlone) {
  put("tree/data/first.json", "mine");
  put("net/first.json", "the first");
  const auto result = fetch("first.json");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("data/first.json: a different file of this name exists"));
  EXPECT_EQ(read_file(data() / "first.json"), "mine");
}

TEST_F(FetchData, ListSaysWhatIsThereAndChangesNothing) {
  put("tree/data/first.json", "the first");
  const auto result = fetch("--list");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output,
              AllOf(testing::ContainsRegex("there +data/first.json +[0-9a-f]{64}  MIT +.*net/first.json\n"),
                    HasSubstr("missing  data/words/second.txt")));
  put("tree/data/first.json", "mine");
  EXPECT_THAT(fetch("--list data/first.json").output, testing::StartsWith("differs  data/first.json"));
  EXPECT_THAT(files_below(data()), UnorderedElementsAre("first.json"));
}

TEST_F(FetchData, OfflineSaysWhatIsMissingAndHowToBringIt) {
  put("net/second.txt", "the second");
  put("tree/data/first.json", "mine");
  const auto result = fetch("--offline");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              AllOf(testing::ContainsRegex("differs +data/first.json +.*net/first.json\n"),
                    testing::ContainsRegex("missing +data/words/second.txt +.*net/published-second.txt\n"),
                    HasSubstr("0 of 2 files are in ")));
  EXPECT_THAT(result.error, AllOf(HasSubstr("scripts/fetch_data --from FOLDER"), HasSubstr("docs/data.md")));
  EXPECT_THAT(files_below(data()), UnorderedElementsAre("first.json")) << "nothing was fetched";

  put("tree/data/first.json", "the first");
  const auto there = fetch("--offline first.json");
  EXPECT_EQ(there.status, 0) << there.error;
  EXPECT_THAT(there.output, testing::StartsWith("1 of 1 files are in "));
}

TEST_F(FetchData, OfflineMayCopy) {
  put("mine/first.json", "the first");
  EXPECT_EQ(fetch("--offline --from mine first.json").status, 0);
  EXPECT_EQ(files_below(data()).size(), 1u);
}

TEST_F(FetchData, MistakesAreDistinguished) {
  EXPECT_EQ(fetch("--help").status, 0);
  EXPECT_EQ(fetch("--form mine").status, 2);
  EXPECT_EQ(fetch("--from").status, 2);
  EXPECT_THAT(fetch("--from nowhere").error, HasSubstr("nowhere is not a folder"));
  const auto unknown = fetch("frist.json");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.error, AllOf(HasSubstr("frist.json is not in "), HasSubstr("\n  first.json\n")));
  EXPECT_FALSE(fs::exists(data()));
}

// ---- the list that ships ----

TEST(FetchDataList, HoldsWhatTheConfigurationsRead) {
  std::set<std::string> listed;
  std::ifstream list(source_dir() / "scripts/fetch_data.list");
  static const std::regex entry("([^ ]+) +[0-9a-f]{64} +(MIT|Apache-2.0|CC-BY-4.0|unknown) +https://[^ ]+/[^ /]+");
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, entry)) << line;
    EXPECT_TRUE(listed.insert(match[1]).second) << line;
  }
  static const std::regex use("\\.\\./\\.\\./data/([^\"]+)");
  std::size_t uses = 0;
  for (const auto& file : fs::directory_iterator(source_dir() / "configs/tasks")) {
    const std::string text = read_file(file.path());
    for (std::sregex_iterator at(text.begin(), text.end(), use), end; at != end; ++at, ++uses)
      EXPECT_EQ(listed.count((*at)[1]), 1u) << file.path() << ": " << (*at)[0];
  }
  EXPECT_GT(uses, 5u);
}

}  // namespace
}  // namespace drift::test::fetch_data_test
