#include "tests/support/tensors.h"

#include <core/io/run_folder.h>

#include <core/io/checkpoint.h>

#include <drift/error.h>
#include <drift/random.h>
#include <tests/support/child.h>
#include <tests/support/support.h>

#include <sys/resource.h>

#include <csignal>

namespace drift::run_folder_test {

namespace fs = std::filesystem;
using test::error_of;
using test::in_child;
using test::limit_file_size;
using test::names_in;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using namespace testing;

// A checkpoint in which every value is a function of the step.
RunCheckpoint checkpoint_at(std::int64_t step, std::int64_t size = 64) {
  RunCheckpoint checkpoint;
  checkpoint.state = {.step = step,
                      .seed = ~std::uint64_t{0},
                      .settings = {{"train.steps", "100"}},
                      .values = {{"elapsed", std::to_string(step) + " s"}},
                      .tensors = {{"momentum", at::full({size}, 0.5 * static_cast<double>(step))}}};
  checkpoint.parameters = {{"weight", at::full({size, 4}, static_cast<double>(step))}};
  checkpoint.config_json = R"({"model_type":"tiny"})";
  return checkpoint;
}

std::string metrics_line(std::int64_t step) { return R"({"step":)" + std::to_string(step) + R"(,"loss":0.5})"; }

class Run : public ::testing::Test {
 protected:
  fs::path path() const { return folder_.path() / "run"; }
  fs::path checkpoints() const { return path() / "checkpoints"; }
  // A run with checkpoints at 10, 20, …
  void make_run(std::int64_t last_step) {
    const RunFolder run = RunFolder::create(path());
    run.write_file("config.toml", "seed = 1\n");
    for (std::int64_t step = 10; step <= last_step; step += 10) run.save_checkpoint(checkpoint_at(step), 3);
  }
  std::string resume_error() {
    return error_of([&] { (void)RunFolder::open(path()).resume_point(); });
  }

  TemporaryFolder folder_;
};

void expect_step(const std::optional<ResumePoint>& point, std::int64_t step) {
  ASSERT_TRUE(point.has_value());
  const RunCheckpoint expected = checkpoint_at(step);
  EXPECT_EQ(point->state.step, step);
  EXPECT_EQ(point->state.seed, expected.state.seed);
  EXPECT_EQ(point->state.values, expected.state.values);
  ASSERT_EQ(point->state.tensors.size(), 1U);
  EXPECT_EQ(point->state.tensors[0].name, "momentum");
  EXPECT_TRUE(at::equal(point->state.tensors[0].tensor, expected.state.tensors[0].tensor));
  const std::vector<NamedTensor> model{{"weight", at::zeros({64, 4})}};
  load_parameters(point->folder, model);
  EXPECT_TRUE(at::equal(model[0].tensor, expected.parameters[0].tensor));
}

TEST_F(Run, ContinuesFromItsLastCheckpoint) {
  make_run(20);
  expect_step(RunFolder::open(path()).resume_point(), 20);
  EXPECT_EQ(read_file(path() / "config.toml"), "seed = 1\n");
  EXPECT_THAT(names_in(checkpoints() / "step-000020"),
              ElementsAre("config.json", "model.safetensors", "training_state.json", "training_state.safetensors"));
}

TEST_F(Run, KeepsTheNewestCheckpoints) {
  const RunFolder run = RunFolder::create(path());
  for (std::int64_t step = 1; step <= 5; ++step) {
    EXPECT_EQ(run.save_checkpoint(checkpoint_at(step), 2).filename(), "step-00000" + std::to_string(step));
    EXPECT_EQ(fs::read_symlink(checkpoints() / "last"), "step-00000" + std::to_string(step));
  }
  EXPECT_THAT(names_in(checkpoints()), ElementsAre("last", "step-000004", "step-000005"));
  run.save_checkpoint(checkpoint_at(1'000'000), 1);
  EXPECT_THAT(names_in(checkpoints()), ElementsAre("last", "step-1000000"));
}

TEST_F(Run, GoingBackToAnEarlierCheckpointNeverLosesIt) {
  make_run(30);
  fs::remove(checkpoints() / "last");
  fs::create_symlink("step-000010", checkpoints() / "last");
  const RunFolder run = RunFolder::open(path());
  expect_step(run.resume_point(), 10);
  run.save_checkpoint(checkpoint_at(20), 1);
  expect_step(run.resume_point(), 20);
  EXPECT_THAT(names_in(checkpoints()), ElementsAre("last", "step-000020", "step-000030"));
}

TEST_F(Run, SavingAStepAgainReplacesIt) {
  make_run(10);
  const RunFolder run = RunFolder::open(path());
  write_file(checkpoints() / "step-000010" / "model.safetensors", "rubbish");
  run.save_checkpoint(checkpoint_at(10), 3);
  expect_step(run.resume_point(), 10);
}

TEST_F(Run, AForeignCheckpointIsRefused) {
  make_run(10);
  const fs::path state = checkpoints() / "step-000010/training_state.json";
  const std::string text = read_file(state);
  nlohmann::json json = nlohmann::json::parse(text);
  json["format"] = 1;
  write_file(state, json.dump());
  EXPECT_THAT(resume_error(), HasSubstr("training state of format 1; this program reads format 2"));
  for (const std::string& bytes : {std::string(), std::string("[]"), text.substr(1)}) {
    write_file(state, bytes);
    EXPECT_THAT(resume_error(), HasSubstr("training_state.json is not a JSON object"));
  }
  write_file(state, "{}");
  EXPECT_THAT(resume_error(), HasSubstr("training_state.json has no format"));
  write_file(state, "{\"format\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}");
  EXPECT_THAT(resume_error(), HasSubstr("training_state.json is nested deeper than 64 levels"));
  fs::remove(state);
  EXPECT_THAT(resume_error(), HasSubstr("has no training state"));
}

TEST_F(Run, StartsOnlyInAFolderWithoutARun) {
  write_file(path() / "notes.txt", "mine");
  make_run(10);
  EXPECT_THAT(error_of([&] { RunFolder::create(path()); }), AllOf(HasSubstr("already has a run"), HasSubstr("--resume"),
                                                                  HasSubstr("--overwrite"), HasSubstr("--out")));
  EXPECT_THAT(error_of([&] { RunFolder::open(folder_.path() / "none"); }),
              AllOf(HasSubstr("there is no run in"), HasSubstr("without --resume")));
  EXPECT_THAT(error_of([&] { RunFolder::open(folder_.path()); }), HasSubstr("there is no run in"));
  EXPECT_THAT(error_of([&] { RunFolder::create(path() / "notes.txt"); }), HasSubstr("notes.txt"));
  EXPECT_THAT(error_of([&] { RunFolder::create(path() / "notes.txt" / "run"); }),
              HasSubstr("a part of this path is a file"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("run"));
}

TEST_F(Run, IsWrittenByOneProcessAtATime) {
  {
    const RunFolder run = RunFolder::create(path());
    run.write_file("config.toml", "");
    EXPECT_THAT(error_of([&] { RunFolder::open(path()); }),
                AllOf(HasSubstr("is in use by another run: process " + std::to_string(::getpid()) + " on "),
                      HasSubstr("wait for it")));
    EXPECT_THAT(error_of([&] { RunFolder::create(path()); }), HasSubstr("is in use"));
    EXPECT_THAT(in_child([&] { return error_of([&] { RunFolder::open(path()); }); }), HasSubstr("is in use"));
  }
  EXPECT_EQ(error_of([&] { RunFolder::open(path()); }), "");
}

// The file server had not heard of this machine for so long that it gave the lock to another.
TEST_F(Run, WritesNothingAfterItsLockWentToAnother) {
  const RunFolder run = RunFolder::create(path());
  run.append_metrics(metrics_line(1));
  write_file(path() / ".lock", "process 12 on node7");
  const auto went = HasSubstr("went to process 12 on node7");
  EXPECT_THAT(error_of([&] { run.append_metrics(metrics_line(2)); }), went);
  EXPECT_THAT(error_of([&] { run.write_file("summary.json", "{}"); }), went);
  EXPECT_THAT(error_of([&] { run.write_inspection(2, "{}"); }), went);
  EXPECT_THAT(error_of([&] { run.save_checkpoint(checkpoint_at(2), 3); }), went);
  EXPECT_EQ(read_file(path() / "metrics.jsonl"), metrics_line(1) + "\n");
  EXPECT_THAT(names_in(path()), ElementsAre(".lock", "checkpoints", "metrics.jsonl"));
  EXPECT_THAT(names_in(checkpoints()), ElementsAre());
}

TEST_F(Run, WhatIsInTheWayIsSaidBeforeTheFolderIsMade) {
  using enum RunFolder::Existing;
  const auto error = [&](RunFolder::Existing existing) {
    return error_of([&] { RunFolder::check_free(path(), existing); });
  };
  EXPECT_EQ(error(kRefuse), "");
  EXPECT_FALSE(fs::exists(path()));
  {
    const RunFolder run = RunFolder::create(path());
    EXPECT_THAT(error(kOverwrite), HasSubstr("is in use by another run"));
  }
  make_run(10);
  EXPECT_THAT(error(kRefuse), HasSubstr("already has a run"));
  EXPECT_EQ(error(kOverwrite), "");
}

TEST_F(Run, WithoutACheckpointThereIsNothingToContinueFrom) {
  make_run(0);
  EXPECT_FALSE(RunFolder::open(path()).resume_point().has_value());
}

TEST_F(Run, KilledBeforeTheFirstLinkFindsItsCheckpoint) {
  make_run(10);
  fs::remove(checkpoints() / "last");
  expect_step(RunFolder::open(path()).resume_point(), 10);
}

TEST_F(Run, ADamagedCheckpointIsReportedAndACompleteOneNamed) {
  make_run(20);
  const fs::path broken = checkpoints() / "step-000020";
  const std::string hint = "the newest complete checkpoint is " + (checkpoints() / "step-000010").string() +
                           "; to continue from there: ln -sfn step-000010";
  for (const std::string name :
       {"model.safetensors", "training_state.safetensors", "config.json", "training_state.json"}) {
    SCOPED_TRACE(name);
    const std::string whole = read_file(broken / name);
    for (const std::size_t at : {std::size_t{0}, whole.size() / 2, whole.size() - 2}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
      write_file(broken / name, bytes);
      EXPECT_THAT(resume_error(), AllOf(HasSubstr("is damaged"), HasSubstr(name), HasSubstr(hint))) << at;
    }
    write_file(broken / name, whole.substr(0, whole.size() / 2));
    EXPECT_THAT(resume_error(), AllOf(HasSubstr(name), HasSubstr(hint)));
    fs::remove(broken / name);
    EXPECT_THAT(resume_error(), AllOf(HasSubstr(name), HasSubstr(hint)));
    write_file(broken / name, whole);
  }
  EXPECT_EQ(resume_error(), "");
  fs::remove_all(broken);  // `last` points nowhere
  EXPECT_THAT(resume_error(), AllOf(HasSubstr("there is no checkpoint folder"), HasSubstr(hint)));
  fs::remove_all(checkpoints() / "step-000010");
  EXPECT_THAT(resume_error(), HasSubstr("no other checkpoint of this run is complete"));
}

TEST_F(Run, AllDamagedFilesAreListed) {
  make_run(10);
  write_file(checkpoints() / "step-000010/config.json", "{}");
  fs::remove(checkpoints() / "step-000010/model.safetensors");
  EXPECT_THAT(resume_error(),
              AllOf(HasSubstr("config.json has 2 bytes, written were 21"), HasSubstr("model.safetensors is missing")));
}

TEST_F(Run, MetricsAreCutToTheCheckpointsStep) {
  const RunFolder run = RunFolder::create(path());
  const fs::path metrics = path() / "metrics.jsonl";
  run.truncate_metrics(3);
  EXPECT_FALSE(fs::exists(metrics));
  std::string three;
  for (std::int64_t step = 1; step <= 5; ++step) {
    run.append_metrics(metrics_line(step));
    if (step <= 3) three += metrics_line(step) + "\n";
  }
  std::ofstream(metrics, std::ios::app) << R"({"step":6,"lo)";
  run.truncate_metrics(3);
  EXPECT_EQ(read_file(metrics), three);
  run.truncate_metrics(3);
  EXPECT_EQ(read_file(metrics), three);
  // A power cut can leave a last line of other bytes.
  std::ofstream(metrics, std::ios::app) << std::string(7, '\0') << "\n";
  run.truncate_metrics(9);
  EXPECT_EQ(read_file(metrics), three);
  write_file(metrics, metrics_line(1) + "\nrubbish\n" + metrics_line(2) + "\n");
  EXPECT_THAT(error_of([&] { run.truncate_metrics(9); }), HasSubstr("metrics.jsonl:2 is not an object with a `step`"));
  run.write_file("metrics.jsonl", three);
  run.truncate_metrics(0);
  EXPECT_EQ(read_file(metrics), "");
}

TEST_F(Run, InspectionsOfLaterStepsAreForgotten) {
  const RunFolder run = RunFolder::create(path());
  run.forget_steps_after(-1);  // there are none
  for (const std::int64_t step : {1, 25, 1000000}) run.write_inspection(step, "{}");
  write_file(path() / "inspect/notes.txt", "");
  run.forget_steps_after(25);
  EXPECT_THAT(names_in(path() / "inspect"),
              testing::UnorderedElementsAre("notes.txt", "step-000001.json", "step-000025.json"));
}

TEST_F(Run, ACheckpointThatDoesNotFitLeavesTheOldOne) {
  make_run(10);
  const auto before = names_in(checkpoints());
  for (rlim_t limit = 0; limit < 1300; limit += 75) {
    const std::string error = in_child([&] {
      const RunFolder run = RunFolder::open(path());
      limit_file_size(limit);
      return error_of([&] { run.save_checkpoint(checkpoint_at(20), 1); });
    });
    if (error.empty()) {
      expect_step(RunFolder::open(path()).resume_point(), 20);
      EXPECT_GT(limit, 1024U);  // the weights alone
      return;
    }
    EXPECT_THAT(error, AllOf(HasSubstr("cannot write"), HasSubstr("File too large")));
    EXPECT_EQ(names_in(checkpoints()), before) << limit;
    expect_step(RunFolder::open(path()).resume_point(), 10);
  }
  FAIL() << "no limit let the checkpoint through";
}

TEST_F(Run, AMetricsLineThatDoesNotFitLeavesNoHalf) {
  const RunFolder run = RunFolder::create(path());
  run.append_metrics(metrics_line(1));
  const std::string before = read_file(path() / "metrics.jsonl");
  const std::string error = in_child([&] {
    limit_file_size(before.size() + 5);
    return error_of([&] { run.append_metrics(metrics_line(2)); });
  });
  EXPECT_THAT(error, HasSubstr("cannot write " + (path() / "metrics.jsonl").string()));
  EXPECT_EQ(read_file(path() / "metrics.jsonl"), before);
}

// What a training process does to its folder, until it is killed. Tells through `told` when its first checkpoint is
// there.
[[noreturn]] void write_until_killed(const fs::path& path, int told) {
  const RunFolder run = RunFolder::open(path);
  const auto point = run.resume_point();
  std::int64_t step = point ? point->state.step : 0;
  run.truncate_metrics(step);
  for (bool first = true;; first = false) {
    ++step;
    run.append_metrics(metrics_line(step));
    run.save_checkpoint(checkpoint_at(step), 2);
    if (first && ::write(told, "x", 1) != 1) ::_exit(1);
  }
}

TEST_F(Run, AKillAtAnyInstantLosesNothingButTheStep) {
  constexpr std::int64_t kKills = 60;
  make_run(0);
  const RandomStream random(3, "kills");
  std::int64_t previous = 0;
  for (std::int64_t kill = 0; kill < kKills; ++kill) {
    SCOPED_TRACE(kill);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(path(), ends[1]);
    ::close(ends[1]);
    char byte = 0;
    ASSERT_EQ(::read(ends[0], &byte, 1), 1) << "the child could not continue";
    ::close(ends[0]);
    ::usleep(static_cast<useconds_t>(random.below(30'000, {kill, 0, 0, 0})));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);

    const RunFolder run = RunFolder::open(path());
    const auto point = run.resume_point();
    ASSERT_TRUE(point.has_value());
    EXPECT_GT(point->state.step, previous);
    previous = point->state.step;
    expect_step(point, previous);
    run.truncate_metrics(previous);
    std::string lines;
    for (std::int64_t step = 1; step <= previous; ++step) lines += metrics_line(step) + "\n";
    EXPECT_EQ(read_file(path() / "metrics.jsonl"), lines);
    for (const std::string& name : names_in(checkpoints())) {
      EXPECT_THAT(name, ::testing::MatchesRegex("last|step-[0-9]*"));
      EXPECT_EQ(error_of([&] { read_training_state(checkpoints() / name); }), "");  // each is complete, linked or not
    }
    EXPECT_LE(names_in(checkpoints()).size(), 4U);  // `last`, two kept, and one that was not yet removed or linked
  }
}

}  // namespace drift::run_folder_test
