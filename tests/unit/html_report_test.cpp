#include <core/report/html.h>
#include <core/report/html_replay.h>
#include <core/report/html_report.h>

#include <drift/error.h>

#include "tests/support/support.h"

#include <cstdio>
#include <regex>

namespace drift::html_report_test {

using namespace testing;

// Empty if every element is closed in order and every attribute is quoted; else what is wrong.
std::string markup_mistake(const std::string& page) {
  static const std::regex tag(R"re(<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][a-zA-Z0-9-]*="[^"<]*")*)\s*(/?)>)re");
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    if (page.compare(at, 9, "<!DOCTYPE") == 0) continue;
    std::smatch match;
    if (!std::regex_search(page.begin() + static_cast<std::ptrdiff_t>(at), page.end(), match, tag,
                           std::regex_constants::match_continuous)) {
      return "not a tag: " + page.substr(at, 60);
    }
    if (match[4] == "/") continue;
    if (match[1] != "/") {
      open.push_back(match[2]);
    } else if (open.empty() || open.back() != match[2]) {
      return "closes what is not open: " + page.substr(at, 60);
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

struct RunFolder {
  void write(const std::string& name, const std::string& content) const {
    test::write_file(folder.path() / name, content);
  }
  std::string report() const {
    write_report(folder.path(), AlarmLimits());
    return test::read_file(folder.path() / "report.html");
  }
  test::TemporaryFolder folder;
};

std::string step_line(int step, const std::string& more = "") {
  return "{\"step\":" + std::to_string(step) +
         ",\"loss\":-0.01,\"reward\":0.5,\"solved\":0.25,\"loss/"
         "kl\":null,\"live_groups\":6,\"groups\":16,\"skipped\":false,"
         "\"seconds\":{\"rollout\":0.3,\"update\":0.1,\"other\":0.1,\"total\":0.5}" +
         more + "}\n";
}

struct WholeRun : RunFolder {
  WholeRun() {
    std::string metrics;
    for (int step = 1; step <= 30; ++step) {
      metrics += step_line(
          step, step % 10 == 0 ? R"(,"held_out":{"accuracy":0.8,"standard_error":0.02,"items":400,"seconds":1})" : "");
    }
    write("metrics.jsonl", metrics);
    write("summary.json",
          R"({"held_out":{"before":0.318,"before_standard_error":0.0233,"after":0.865,"standard_error":0.0171,
      "items":400},"seconds":18.7,"evaluation_seconds":15.2,"start_seconds":22.1,"total_seconds":58.4,"peak_memory_mib":411.6,"steps":30,"seed":1,
      "command":"drift train a.toml --set x=\"<y>\""})");
    write("config.toml",
          "# resolved\n[run]\nname = \"first\"  # a.toml:4:1\nseed = 1  # --seed\n\n[train]\nsteps = 30  # default\n");
    write("plugins.json", R"([{"name":"one","version":"0.1.0"},{"name":"two","licence":"Apache-2.0"}])");
    write("samples.json",
          R"([{"step":30,"prompt":"1 < 2 & 3\n","response":"ab\nc","tokens":["a","b","\n","<c>x","<eos>"],
      "commit_step":[1,0,2,2,-1],"commit_probability":[0.99,0.8,0.4,1,0],"reward":1,"solved":true,"reason":"right"}])");
  }
};

/// The page, but for what is an identifier and nothing that is fetched: the name of the XML vocabulary.
void expect_needs_no_other_file(const std::string& page) {
  const std::string fetched = std::regex_replace(page, std::regex("xmlns=\"[^\"]*\""), "");
  for (const char* reference : {"http:", "https:", "src=", "href=", "url(", "@import", "//"})
    EXPECT_THAT(fetched, Not(HasSubstr(reference)));
}

TEST(Report, IsOneWellFormedFileThatNeedsNoOther) {
  const std::string page = WholeRun().report();
  EXPECT_EQ(markup_mistake(page), "");
  expect_needs_no_other_file(page);
}

TEST(Report, OpensWithWhatWasLearned) {
  const std::string page = WholeRun().report();
  EXPECT_THAT(page, HasSubstr("31.8 % → <b>86.5 %</b>"));
  EXPECT_THAT(page, HasSubstr("400 items that the run never trains on; standard error 2.3 and 1.7 points"));
  EXPECT_THAT(page, HasSubstr("30 steps in 0:58 (start 0:22, training 0:19, evaluation 0:15), peak memory 412 MiB"));
  EXPECT_LT(page.find("86.5 %"), page.find("<h2>"));
}

TEST(Report, HasACurveForWhatWasMeasuredAndNoneForWhatWasNot) {
  const std::string page = WholeRun().report();
  for (const char* title : {"Reward", "Held-out accuracy", "Loss", "Live groups", "Time"})
    EXPECT_THAT(page, HasSubstr("<figcaption><b>" + std::string(title)));
  EXPECT_THAT(page, Not(HasSubstr("<b>KL"))) << "all null";
  EXPECT_THAT(page, Not(HasSubstr("<b>Token utility")));
}

TEST(Report, MarksAlarmsAndSaysWhatToTry) {
  RunFolder folder;
  std::string metrics;
  for (int step = 1; step <= 12; ++step)
    metrics += "{\"step\":" + std::to_string(step) + ",\"reward\":" + (step > 8 ? "0.1" : "0.5") + "}\n";
  folder.write("metrics.jsonl", metrics);
  AlarmLimits limits;
  limits.window = 2;
  limits.reward_collapse = 0.5;
  write_report(folder.folder.path(), limits);
  const std::string page = test::read_file(folder.folder.path() / "report.html");
  EXPECT_EQ(markup_mistake(page), "");
  EXPECT_THAT(page, HasSubstr("<dt>step 10: reward collapses</dt><dd>the reward is 0.1, and was 0.5"));
  EXPECT_THAT(page, HasSubstr("Try: continue from an earlier checkpoint"));
  EXPECT_THAT(page, HasSubstr("<line class=\"mark\"")) << "in the curve of the reward";

  const std::string silent = WholeRun().report();
  EXPECT_THAT(silent, Not(HasSubstr("<h2>Alarms")));
  EXPECT_THAT(silent, Not(HasSubstr("class=\"mark\"")));
}

TEST(Report, DrawsWhatALossReportsUnderItsOwnName) {
  RunFolder folder;
  folder.write("metrics.jsonl", step_line(1, R"(,"loss/clip_share":0.25,"steps/entropy":1.5)") +
                                    step_line(2, R"(,"loss/clip_share":0.5,"steps/entropy":1.25)"));
  const std::string page = folder.report();
  EXPECT_THAT(page, HasSubstr("<figcaption><b>loss/clip share"));
  EXPECT_THAT(page, HasSubstr("<figcaption><b>steps/entropy"));
}

TEST(Report, OfThousandsOfMetricsDrawsSome) {
  RunFolder folder;
  std::string lines;
  for (int step = 0; step < 20; ++step) {
    lines += R"({"step":)" + std::to_string(step);
    for (int i = 0; i < 100; ++i) lines += ",\"own" + std::to_string(1000 + 100 * step + i) + "\":1";
    lines += "}\n";
  }
  folder.write("metrics.jsonl", lines);
  const std::string html = folder.report();
  EXPECT_THAT(html, HasSubstr("own1199"));
  EXPECT_THAT(html, Not(HasSubstr("own1200")));
}

TEST(Report, RunsOfNoStepAndOneStepAreAlsoPages) {
  const RunFolder empty;
  const std::string nothing = empty.report();
  EXPECT_EQ(markup_mistake(nothing), "");
  EXPECT_THAT(nothing, HasSubstr("No step is finished yet"));

  const RunFolder one;
  one.write("metrics.jsonl", step_line(1));
  const std::string page = one.report();
  EXPECT_EQ(markup_mistake(page), "");
  EXPECT_THAT(page, HasSubstr("<b>Reward</b>"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("inf")));
}

TEST(Report, PretrainingHasALossAndATime) {
  const RunFolder run;
  run.write(
      "metrics.jsonl",
      "{\"step\":1,\"loss\":2.5,\"grad_norm\":1,\"learning_rate\":0.002,\"tokens_per_second\":900,\"seconds\":0.2}\n"
      "{\"step\":2,\"loss\":2.25,\"grad_norm\":1,\"learning_rate\":0.002,\"tokens_per_second\":900,\"seconds\":0.2}\n");
  const std::string page = run.report();
  EXPECT_EQ(markup_mistake(page), "");
  EXPECT_THAT(page, HasSubstr("2.500 → <b>2.250</b>"));
  EXPECT_THAT(page, HasSubstr("<b>Time</b>"));
  EXPECT_THAT(page, Not(HasSubstr("<b>Reward</b>")));
}

TEST(Report, EscapesEveryText) {
  const std::string page = WholeRun().report();
  EXPECT_THAT(page, HasSubstr("1 &lt; 2 &amp; 3"));
  EXPECT_THAT(page, HasSubstr("--set x=&quot;&lt;y&gt;&quot;"));
  EXPECT_THAT(page, Not(HasSubstr("<c>")));
  EXPECT_EQ(escape_html("a\x01\xff\xc3\xa9"), "a\uFFFD\uFFFDé");
}

TEST(Report, LoadsItselfUntilTheRunHasEnded) {
  WholeRun run;
  run.write("summary.json", R"({"status": "unfinished", "steps": 30})");
  const std::string page = run.report();
  EXPECT_EQ(markup_mistake(page), "");
  expect_needs_no_other_file(page);
  EXPECT_TRUE(
      std::regex_search(page, std::regex("<p class=\"live\" data-every=\"30\">"
                                         "Written after step 30, at 20[-0-9]+ [:0-9]+ UTC; the run had not ended.")));
  for (const char* status : {"finished", "interrupted", "failed"}) {
    run.write("summary.json", std::string("{\"status\": \"") + status + "\"}");
    EXPECT_THAT(run.report(), Not(HasSubstr("class=\"live\"")));
  }
}

TEST(Report, AnUnreadableFileIsNamedAndTheEarlierReportStays) {
  const WholeRun run;
  const std::string earlier = run.report();
  for (const char* name : {"summary.json", "plugins.json", "samples.json"}) {
    const std::string good = test::read_file(run.folder.path() / name);
    const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
    std::string wide = "{";
    for (int i = 0; i < 1'000'000; ++i) wide += "\"k" + std::to_string(i) + "\": 1, ";
    wide += "\"\": 1}";
    for (const std::string& bad : {std::string("{\"held_out\":"), std::string("[1]"), std::string("\"text\""),
                                   "{\"held_out\":" + deep + "}", "[{\"name\":" + deep + "}]", wide}) {
      run.write(name, bad);
      EXPECT_THAT(test::error_of([&] { write_report(run.folder.path(), AlarmLimits()); }),
                  testing::AllOf(HasSubstr(name), Not(HasSubstr("json.exception"))))
          << bad.substr(0, 20);
    }
    run.write(name, good);
  }
  EXPECT_EQ(test::read_file(run.folder.path() / "report.html"), earlier);
}

TEST(Report, LinksTheReplaysThatAreThere) {
  const WholeRun run;
  EXPECT_THAT(run.report(), Not(HasSubstr("Replays")));
  run.write("replay_after.html", "");
  EXPECT_THAT(run.report(), HasSubstr("<a href=\"replay_after.html\">after training</a></p>"));
  run.write("replay_before.html", "");
  const std::string page = run.report();
  EXPECT_EQ(markup_mistake(page), "");
  EXPECT_THAT(page, HasSubstr("<a href=\"replay_before.html\">before training</a>, <a href=\"replay_after.html\">"));
}

struct InspectedRun : WholeRun {
  explicit InspectedRun(int steps) {
    std::filesystem::create_directory(folder.path() / "inspect");
    for (int step = 1; step <= steps; ++step) {
      char name[32];
      std::snprintf(name, sizeof name, "inspect/step-%06d.json", step);
      write(name, "{\"step\":" + std::to_string(step) +
                      R"(,"groups":[{"prompt":"</script><b>1 & 2</b>\u007f","item":"é"}]})");
    }
  }
};

TEST(Report, HoldsTheInspectedStepsAsDataThatIsNoMarkup) {
  const std::string page = InspectedRun(2).report();
  EXPECT_EQ(markup_mistake(page), "");
  expect_needs_no_other_file(page);
  EXPECT_THAT(page, HasSubstr("<h2>Groups of a step, token by token"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script\\u003e\\u003cb\\u003e1 \\u0026 2"));
  EXPECT_THAT(page, Not(HasSubstr("<b>1")));
  EXPECT_THAT(page, Not(HasSubstr("\x7f")));
  EXPECT_THAT(WholeRun().report(), Not(HasSubstr("inspector"))) << "nothing of it where no step was inspected";
}

TEST(Report, OfManyInspectedStepsHoldsSomeBetweenTheFirstAndTheLast) {
  const std::string page = InspectedRun(100).report();
  EXPECT_THAT(page, HasSubstr("24 of 100 inspected steps"));
  for (const char* step : {"\"step\":1}", "\"step\":100}"}) EXPECT_THAT(page, HasSubstr(step));
}

TEST(Report, LeavesOutInspectedStepsThatAreTooLargeForAPage) {
  const InspectedRun run(2);
  run.write("inspect/step-000001.json", "{\"step\":1,\"groups\":[\"" + std::string(9 << 20, 'x') + "\"]}");
  EXPECT_THAT(run.report(), HasSubstr("1 of 2 inspected steps"));
  std::filesystem::remove(run.folder.path() / "inspect/step-000002.json");
  EXPECT_THAT(run.report(), HasSubstr("too large for a page"));
}

TEST(Report, NamesAnInspectedStepThatCannotBeRead) {
  const InspectedRun run(2);
  run.write("inspect/step-000002.json", "{\"step\":");
  EXPECT_THAT(test::error_of([&] { run.report(); }), HasSubstr("step-000002.json"));
}

class Replay : public testing::Test {
 protected:
  const std::string page_ = html_replay("Two <responses>", "runs/a", nlohmann::json::parse(R"([
    {"name": "first & only", "prompt": "1 < 2\n", "response": "ab", "tokens": ["a", "b\n", "<eos>", "<eos>", "<eos>", "<eos>"],
     "commit_step": [2, 0, 1, 1, 1, -1], "commit_probability": [0.6, 0.8, 1, 1, 1, 0],
     "runners_up": [[{"token": "<x>", "probability": 0.3}, {"token": "\n", "probability": 0.05}], [], [], [], [], []]},
    {"prompt": "p", "response": "", "tokens": ["c"], "commit_step": [0], "reward": 0, "solved": false}])"));
};

TEST_F(Replay, IsOneWellFormedFileThatNeedsNoOther) {
  EXPECT_EQ(markup_mistake(page_), "");
  expect_needs_no_other_file(page_);
  EXPECT_THAT(page_, HasSubstr("<h1>Two &lt;responses&gt;</h1>"));
  EXPECT_THAT(page_, HasSubstr("first &amp; only"));
  EXPECT_THAT(page_, HasSubstr("1 &lt; 2"));
}

TEST_F(Replay, EveryTokenKnowsItsForward) {
  EXPECT_THAT(page_, HasSubstr("data-step=\"2\" title=\"step 3, probability 0.600; runners-up: “&lt;x&gt;” 0.300, “↵” "
                               "0.050\">a<sub>3</sub></span>"));
  const std::regex tile("data-step=\"-?[0-9]+\"");
  EXPECT_EQ(std::distance(std::sregex_iterator(page_.begin(), page_.end(), tile), {}), 7) << "none is left out";
  EXPECT_THAT(page_, HasSubstr("data-step=\"-1\" title=\"never committed\""));
}

TEST_F(Replay, HasControlsOfItsOwnForEachResponse) {
  for (const char* last : {"3", "1"})
    EXPECT_THAT(page_, HasSubstr(std::string("<input type=\"range\" min=\"0\" max=\"") + last + "\""));
  EXPECT_THAT(page_, HasSubstr("✗ failed"));
  EXPECT_THAT(page_, HasSubstr("<div class=\"controls\" hidden=\"hidden\">")) << "nothing to press without scripts";
}

// Each position is masked until its forward; what no forward committed appears with the end.
TEST_F(Replay, PlaysPausesAndAnswersThePointerInABrowser) {
  if (test::run_command("command -v chromium").status != 0) GTEST_SKIP() << "chromium is not installed";
  std::string page = page_;
  page.insert(page.find("</body>"), R"js(<script>
    const replay = document.querySelector('.replay'), slider = replay.querySelector('input');
    const button = replay.querySelector('button'), token = replay.querySelector('[data-step]');
    const maskedAt = forwards => {
      slider.value = forwards;
      slider.dispatchEvent(new Event('input'));
      return replay.querySelectorAll('.masked').length;
    };
    const pointAt = element => {
      element.dispatchEvent(new Event('pointerover', {bubbles: true}));
      return replay.querySelector('.detail').textContent;
    };
    const pressed = () => { button.click(); return button.textContent; };
    const found = [maskedAt(0), pointAt(token), maskedAt(1), maskedAt(2), maskedAt(3), pointAt(token),
                   replay.querySelector('output').textContent, pressed(), slider.value, pressed()];
    document.body.append(found.join(' | '));</script>)js");
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "replay.html", page);
  const auto built = test::run_command(
      "chromium --headless --no-sandbox --disable-gpu --user-data-dir=" + (folder.path() / "browser").string() +
      " --dump-dom file://" + (folder.path() / "replay.html").string());
  ASSERT_EQ(built.status, 0) << built.error;
  EXPECT_THAT(built.output, HasSubstr("6 | still masked | 5 | 2 | 0 | step 3, probability 0.600; runners-up: "));
  EXPECT_THAT(built.output, HasSubstr(" | forward 3 of 3, 5 of 5 tokens | ❚❚ pause | 0 | ▶ play"));
}

TEST(Samples, EachTokenShowsWhenItWasCommitted) {
  const auto samples = nlohmann::json::parse(R"([{"tokens":["a","\n","b","\nc","<eos>","<eos>","<eos>","<eos>"],
    "commit_step":[3,1,0,-1,2,2,2,2],"commit_probability":[0.99,0.8,0.4,0,1,1,1,1],
    "reward":0,"solved":false,"reason":"wrong"}])");
  const std::string html = html_samples(samples);
  EXPECT_THAT(html, HasSubstr("✗ failed"));
  EXPECT_THAT(html, HasSubstr("</span><wbr/><span class=\"t ")) << "a line breaks between tokens, never within";
  EXPECT_THAT(html, HasSubstr("<span class=\"t k7\" title=\"step 4, probability 0.990\">a<sub>4</sub></span>"));
  EXPECT_THAT(html,
              HasSubstr("<span class=\"t k2 unsure\" title=\"step 2, probability 0.800\">↵<sub>2</sub></span><br/>"));
  EXPECT_THAT(html,
              HasSubstr("<span class=\"t k0 unsure very\" title=\"step 1, probability 0.400\">b<sub>1</sub></span>"));
  EXPECT_THAT(html, HasSubstr("<span class=\"t never\" title=\"never committed\">↵<br/>c</span>"));
  EXPECT_THAT(html, HasSubstr("eos ×4<sub>3</sub>"));
}

TEST(Report, ShowsTheSettingsWithTheirOrigins) {
  EXPECT_THAT(WholeRun().report(), HasSubstr("<pre># resolved\n[run]\nname = &quot;first&quot;  # a.toml:4:1\n"));
}

}  // namespace drift::html_report_test
