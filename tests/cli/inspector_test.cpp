// The groups of a step that a run keeps for the inspector of its report.

#include <tests/support/training_run.h>

namespace drift::inspector_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;
using nlohmann::json;

class Inspector : public Test, public TrainingRuns {
 protected:
  json step(const std::string& run, const std::string& name) const {
    return json::parse(read_file(path(run) / "inspect" / name));
  }
  std::set<std::string> files(const std::string& run) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path(run) / "inspect"))
      names.insert(entry.path().filename().string());
    return names;
  }
  void expect_run(const std::string& name, const std::string& options) const {
    ASSERT_THAT(train(name, options), prints());
  }
};

TEST_F(Inspector, KeepsTheFirstStepTheLastOneAndEverySoMany) {
  expect_run("a", "--steps 5 --set report.inspect_every=2");
  EXPECT_THAT(files("a"), ElementsAre("step-000001.json", "step-000002.json", "step-000004.json", "step-000005.json"));
  expect_run("b", "--steps 2 --set report.inspect_every=0");
  EXPECT_FALSE(fs::exists(path("b/inspect")));
  EXPECT_THAT(read("b/report.html"), Not(HasSubstr("class=\"inspected\"")));
}

TEST_F(Inspector, ChangesNothingOfTheRun) {
  expect_run("with", "--steps 4 --set report.inspect_every=1 --set train.inner_iterations=2");
  expect_run("without", "--steps 4 --set report.inspect_every=0 --set train.inner_iterations=2");
  EXPECT_EQ(difference_of("with", "without"), "");
}

TEST_F(Inspector, SaysWhatHappenedToEachToken) {
  expect_run("a", "--steps 1 --set train.inner_iterations=2 --set train.learning_rate=1e-2");
  const json found = step("a", "step-000001.json"), metrics = metrics_in("a").back();
  EXPECT_EQ(found.at("step"), 1);
  EXPECT_EQ(found.at("groups_of_step"), 2);
  EXPECT_EQ(found.at("kept_groups"), metrics.at("kept_groups"));
  ASSERT_EQ(found.at("groups").size(), 2u);
  double reward = 0;
  int trained = 0, moved = 0;
  for (const json& group : found["groups"]) {
    EXPECT_FALSE(group.at("prompt").get<std::string>().empty());
    ASSERT_EQ(group.at("responses").size(), 4u);
    double advantages = 0;
    for (const json& response : group["responses"]) {
      reward += response.at("reward").get<double>() / 8;
      EXPECT_EQ(response.at("parts").at(0).at("name"), "sudoku");
      const std::size_t tokens = response.at("tokens").size();
      EXPECT_EQ(response.at("commit_step").size(), tokens);
      EXPECT_EQ(response.contains("before"), group.at("kept").get<bool>());
      if (!response.contains("before")) continue;
      ++trained;
      advantages += response.at("advantage").get<double>();
      for (std::size_t i = 0; i < tokens; ++i) {
        const bool scored = response.at("scored")[i] > 0;
        EXPECT_EQ(response.at("before")[i].is_number(), scored);
        if (!scored) continue;
        EXPECT_LE(response["clipped"][i].get<int>() + response["dropped"][i].get<int>(), response["scored"][i]);
        moved += response["after"][i] != response["before"][i] ? 1 : 0;
      }
      const json& views = response.at("views");
      EXPECT_EQ(views.at("count"), views.at("shown").size());
      for (const json& view : views["shown"]) EXPECT_EQ(view.at("marks").get<std::string>().size(), tokens);
    }
    if (group.at("kept").get<bool>()) {
      EXPECT_NEAR(advantages, 0, 1e-3);
    }
  }
  EXPECT_NEAR(reward, metrics.at("reward").get<double>(), 1e-4);
  EXPECT_EQ(trained, 4 * metrics.at("kept_groups").get<int>());
  EXPECT_GT(moved, 0);
}

TEST_F(Inspector, KeepsAsManyGroupsAsItIsTold) {
  expect_run("a", "--steps 1 --set report.inspect_groups=1 --set train.prompts_per_step=3");
  const json found = step("a", "step-000001.json");
  ASSERT_EQ(found.at("groups").size(), 1u);
  EXPECT_EQ(found["groups"][0].at("kept").get<bool>(), found.at("kept_groups") > 0) << "trained ones come first";
}

TEST_F(Inspector, IsTheSameAfterAResume) {
  expect_run("unbroken", "--steps 4 --set report.inspect_every=1 --set train.schedule=constant");
  expect_run("a", "--steps 2 --set report.inspect_every=1 --set train.schedule=constant");
  // As left by a run that was killed behind its last checkpoint.
  write("a/inspect/step-000009.json", "{}");
  expect_run("a", "--steps 4 --set report.inspect_every=1 --resume");
  EXPECT_EQ(files("a"), files("unbroken"));
  for (const std::string& name : files("unbroken"))
    EXPECT_EQ(read_file(path("a/inspect") / name), read_file(path("unbroken/inspect") / name)) << name;
}

TEST_F(Inspector, IsInTheReport) {
  expect_run("a", "--steps 2");
  const std::string page = read("a/report.html");
  EXPECT_THAT(page, HasSubstr("<h2>Groups of a step, token by token"));
  EXPECT_THAT(page, HasSubstr("class=\"inspected\">{\"group_size\":4,"));
}

/// In a real browser, where there is one: the page as its script, and a user, have made it.
class InspectorInABrowser : public Inspector {
 protected:
  void SetUp() override {
    if (run_command("command -v chromium").status != 0) GTEST_SKIP() << "chromium is not installed";
  }
  /// The page of run `name` after `clicks`, a script.
  std::string page(const std::string& name, const std::string& clicks) const {
    std::string html = read_file(path(name) / "report.html");
    html.insert(html.find("</body>"), "<script>" + clicks + "</script>");
    const fs::path file = fs::absolute(path("clicked.html"));
    write_file(file, html);
    const auto built =
        run_command("chromium --headless --no-sandbox --disable-gpu --user-data-dir=" + path("browser").string() +
                    " --dump-dom file://" + file.string());
    EXPECT_THAT(built, prints());
    return built.output;
  }
};

TEST_F(InspectorInABrowser, IsClickedThrough) {
  expect_run("a", "--steps 2");
  const std::string html = page("a", R"js(
    const buttons = () => Array.from(document.querySelectorAll('.inspector button'));
    buttons()[1].click();
    buttons()[3].click();
    buttons().find(one => one.textContent === 'commit step').click();
    document.querySelector('.inspector article .t').click();)js");
  EXPECT_THAT(html, HasSubstr("<option value=\"1\">step 2</option>"));
  EXPECT_THAT(html, HasSubstr("response 4"));
  EXPECT_THAT(html, HasSubstr("<p class=\"detail\">position 1, "));
  EXPECT_THAT(html, HasSubstr("committed early"));
  const json shown = step("a", "step-000002.json").at("groups").at(1);
  EXPECT_THAT(html, HasSubstr("Item " + shown.at("item").get<std::string>()));
}

TEST_F(InspectorInABrowser, ShowsWhateverAModelWrites) {
  expect_run("a", "--steps 1");
  json found = step("a", "step-000001.json");
  const std::string hostile = "</script><img src=\"x\" onerror=\"document.title='caught'\">";
  for (json& group : found["groups"]) {
    group["prompt"] = hostile;
    for (json& response : group["responses"]) response["tokens"][0] = response["reason"] = hostile;
  }
  write("a/inspect/step-000001.json", found.dump());
  ASSERT_EQ(drift("report a").status, 0);
  const std::string html = page("a", "");
  EXPECT_THAT(html, HasSubstr("<pre>&lt;/script&gt;&lt;img"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<title>caught")));
}

}  // namespace drift::inspector_test
