// scripts/make_site: the documentation as HTML, in which every link leads somewhere.

#include <tests/support/support.h>

namespace drift::site_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string script(const std::string& name) { return (test::source_dir() / name).string(); }

bool is_there(const std::string& tool) { return test::run_command("command -v " + tool).status == 0; }

class Site : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!is_there("mkdocs") || !is_there("doxygen") || !fs::exists(test::source_dir() / ".git")) return;
    folder_ = std::make_unique<test::TemporaryFolder>();
    made_ = test::run_command(script("scripts/make_site") + " " + (folder_->path() / "site").string());
  }
  static void TearDownTestSuite() { folder_.reset(); }

  void SetUp() override {
    if (!folder_) GTEST_SKIP() << "mkdocs, doxygen or the repository of git is missing";
    ASSERT_EQ(made_.status, 0) << made_.output << made_.error;
  }

  static std::string page(const std::string& name) { return test::read_file(folder_->path() / "site" / name); }

  static inline std::unique_ptr<test::TemporaryFolder> folder_;
  static inline test::CommandResult made_;
};

TEST_F(Site, IsMadeWithoutAWarning) { EXPECT_EQ(made_.error, ""); }

TEST_F(Site, HasNoLinkThatLeadsToNothing) {
  const auto checked = test::run_command(script("tests/house/check_links") + " " + (folder_->path() / "site").string());
  EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
}

TEST_F(Site, HasEveryPageOfTheDocumentation) {
  int pages = 0;
  for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() / "docs")) {
    if (entry.path().extension() != ".md") continue;
    fs::path html = fs::relative(entry.path(), test::source_dir()).replace_extension(".html");
    if (html.stem() == "README") html.replace_filename("index.html");
    EXPECT_TRUE(fs::exists(folder_->path() / "site" / html)) << html;
    ++pages;
  }
  EXPECT_GT(pages, 30);
  for (const char* printed : {"configuration", "metrics", "commands"})
    EXPECT_TRUE(fs::exists(folder_->path() / "site/docs/reference" / (std::string(printed) + ".html"))) << printed;
}

TEST_F(Site, CanBeSearchedAndLeadsToTheHeaders) {
  EXPECT_THAT(page("search/search_index.json"), HasSubstr("train.learning_rate"));
  EXPECT_THAT(page("index.html"), HasSubstr("href=\"api/index.html\""));
  EXPECT_THAT(page("api/annotated.html"), HasSubstr("LossEstimator"));
}

// MkDocs' parser differs from GitHub's, for which the pages are written.
TEST_F(Site, ShowsThePagesAsGitHubDoes) {
  EXPECT_THAT(page("docs/architecture.html"), HasSubstr("<pre><code>"));
  EXPECT_THAT(page("docs/reference/configuration.html"), HasSubstr("<code>mean | leave_one_out</code>"));
  EXPECT_THAT(page("docs/runs.html"), HasSubstr("<h2 id=\"stopping-and-continuing\">"));
  EXPECT_THAT(page("docs/algorithms/rldf.html"), HasSubstr("<td><code>algorithm.loss.low_prob_threshold</code></td>"));
}

// Of a folder of pages that is not the tree: the checker finds what it is for.
TEST(Links, ABrokenOneIsFound) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "a.html", "<h1 id='top'></h1><a href='b.html#there'>b</a><a href='#top'>a</a>");
  test::write_file(folder.path() / "b.html", "<p id='there'></p><a href='a.html#nowhere'>a</a><img src='c.png'>");
  const auto checked = test::run_command(script("tests/house/check_links") + " " + folder.path().string());
  EXPECT_EQ(checked.status, 1);
  EXPECT_EQ(checked.output, "b.html: a.html#nowhere\nb.html: c.png\n2 pages, 4 links, 2 broken\n");
}

}  // namespace drift::site_test
