// What a run writes for TensorBoard, byte by byte. tracking_cli_test has it read by its own package.

#include <core/record/event_record.h>
#include <core/record/tensorboard_events.h>

#include <drift/error.h>

#include <tests/support/support.h>
#include <tests/support/tracking.h>

namespace drift::tracking_test {

namespace fs = std::filesystem;
using namespace testing;

TEST(Crc32c, AgreesWithThePublishedCheckValue) { EXPECT_EQ(crc32c("123456789"), 0xE3069283); }

TEST(WireFormat, IsThatOfTheSpecification) {
  EXPECT_EQ(integer_field(1, 150), "\x08\x96\x01");
  EXPECT_EQ(text_field(2, "testing"), "\x12\x07testing");
  EXPECT_EQ(text_field(3, integer_field(1, 150)), "\x1A\x03\x08\x96\x01");
  EXPECT_EQ(integer_field(1, -2), "\x08\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  EXPECT_EQ(single_field(1, 1), std::string("\x0D\x00\x00\x80\x3F", 5));
  EXPECT_EQ(reals_field(6, {1}), std::string("\x32\x08\x00\x00\x00\x00\x00\x00\xF0\x3F", 10));
}

TEST(StepOfAnEvent, SurvivesDamage) {
  const std::string event = real_field(1, 0.5) + integer_field(2, 300);
  EXPECT_EQ(step_of_event(event + text_field(5, "x")), 300);
  EXPECT_EQ(step_of_event(real_field(1, 0.5) + text_field(3, "brain.Event:2")), -1);
  EXPECT_EQ(step_of_event(real_field(1, 0.5) + text_field(5, "x")), 0);
  for (std::size_t length = 0; length < event.size(); ++length) EXPECT_LT(step_of_event(event.substr(0, length)), 300);
  EXPECT_NE(step_of_event(event.substr(0, 10) + std::string(100, '\xFF')), 0) << "a number without an end";
}

TEST(HistogramMessage, CountsFiniteValues) {
  const std::string histogram = histogram_message({0, 1, 2, 32, 32, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(test::find_field(histogram, {1}).real(), 0);
  EXPECT_EQ(test::find_field(histogram, {2}).real(), 32);
  EXPECT_EQ(test::find_field(histogram, {3}).real(), 5);
  EXPECT_EQ(test::find_field(histogram, {4}).real(), 67);
  EXPECT_EQ(test::find_field(histogram, {5}).real(), 1 + 4 + 2 * 1024);
  const test::Field edges = test::find_field(histogram, {6}), counts = test::find_field(histogram, {7});
  ASSERT_THAT(edges.text, SizeIs(8 * kHistogramBins)) << "the upper ones";
  EXPECT_EQ(edges.real(0), 1);
  EXPECT_EQ(edges.real(31), 32);
  EXPECT_EQ(counts.real(0), 1);
  EXPECT_EQ(counts.real(1), 1);
  EXPECT_EQ(counts.real(31), 2) << "the last bin has its upper edge";
}

TEST(HistogramMessage, PutsABinAroundEqualValues) {
  const std::string histogram = histogram_message({3, 3});
  EXPECT_EQ(test::find_field(histogram, {1}).real(), 3);
  EXPECT_EQ(test::find_field(histogram, {6}).real(31), 3.5);
  EXPECT_EQ(test::find_field(histogram, {7}).real(kHistogramBins / 2), 2);
  EXPECT_EQ(histogram_message({}), "");
}

TEST(TfRecord, EndsBeforeWhatWasCutOffOrDamaged) {
  const std::string first = tf_record("one"), second = tf_record(std::string(40000, '2'));
  const std::string file = first + second + tf_record("three");
  EXPECT_THAT(read_tf_records(file), ElementsAre("one", std::string(40000, '2'), "three"));
  for (std::size_t length = first.size(); length < first.size() + second.size(); ++length)
    ASSERT_THAT(read_tf_records(std::string_view(file).substr(0, length)), SizeIs(1)) << length;
  std::string damaged = file;
  damaged[first.size() + second.size() - 5] ^= 1;
  EXPECT_THAT(read_tf_records(damaged), SizeIs(1));
}

class Tracking : public testing::Test {
 protected:
  static TrackedRun run(std::int64_t first_step) {
    TrackedRun run;
    run.name = "mine";
    run.toml = "[train]\nsteps = 3\n";
    run.settings = {{"train", "steps", "3"}, {"train", "schedule", "\"linear\""}};
    run.first_step = first_step;
    return run;
  }

  static StepRecord step(std::int64_t number, double loss) {
    StepRecord step;
    step.step = number;
    step.loss = loss;
    step.loss_metrics["kl"] = 0.25;
    step.distributions["advantages"] = {-1, 1};
    step.samples = {{"2 + 2?", "four\nor 4", 1, true}};
    return step;
  }

  fs::path event_folder() const { return folder_.path() / "tensorboard"; }
  TensorBoardEvents tracker(std::int64_t first_step) const { return {event_folder(), run(first_step)}; }

  test::TemporaryFolder folder_;
};

TEST_F(Tracking, WritesEventsInFrames) {
  tracker(0).write(step(1, 0.5), {});
  const auto files = test::files_under(event_folder());
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_THAT(files.front().filename(), testing::ResultOf([](const fs::path& path) { return path.string(); },
                                                          testing::StartsWith("events.out.tfevents.")));
  const auto events = test::tf_records(test::read_file(files.front()));
  ASSERT_THAT(events, SizeIs(4)) << "version, begin of the session, configuration, one step";
  EXPECT_EQ(test::find_field(events[0], {3}).text, "brain.Event:2");
  EXPECT_EQ(test::find_field(events[1], {7, 1}).integer, 1) << "SessionLog.START";
  EXPECT_EQ(test::find_field(events[2], {5, 1, 8, 8}).text, "    [train]\n    steps = 3\n    ");
  EXPECT_EQ(test::find_field(events[3], {2}).integer, 1);
  EXPECT_THAT(test::find_field(events[3], {5}).text, HasSubstr("loss/kl"));
  EXPECT_THAT(test::find_field(events[3], {5}).text, HasSubstr("    four\n    or 4"));
}

TEST_F(Tracking, AnEventFileOfTheSameSecondComesAfterTheOneBefore) {
  for (int start = 0; start < 3; ++start) tracker(0);
  const auto files = test::files_under(event_folder());
  ASSERT_THAT(files, SizeIs(3));
  EXPECT_TRUE(std::ranges::is_sorted(files));
}

// Steps 2 and 3 were written, but only step 1 is in the checkpoint.
TEST_F(Tracking, AContinuedRunReplacesTheStepsThatItRepeats) {
  auto before = tracker(0);
  for (int number = 1; number <= 3; ++number) before.write(step(number, number), {});
  auto after = tracker(2);
  after.write(step(2, 20), {});

  std::vector<std::int64_t> steps;  // of events with numbers, in both files
  for (const fs::path& file : test::files_under(event_folder())) {
    for (const std::string& event : test::tf_records(test::read_file(file))) {
      if (event.find("loss/kl") != std::string::npos) steps.push_back(test::find_field(event, {2}).integer);
    }
  }
  EXPECT_THAT(steps, ElementsAre(1, 2));
  const auto events = test::tf_records(test::read_file(test::files_under(event_folder()).back()));
  EXPECT_EQ(test::find_field(events[1], {2}).integer, 2) << "a reader drops what it has read of steps from 2 on";
}

TEST_F(Tracking, ARunThatWasKilledWhileItWroteContinues) {
  { tracker(0).write(step(1, 1), {}); }
  const auto file = test::files_under(event_folder()).front();
  const auto whole = test::read_file(file);
  for (const std::size_t length :
       {whole.size() - 3, whole.size() / 2, std::size_t{8}, std::size_t{3}, std::size_t{0}}) {
    test::write_file(file, whole.substr(0, length));
    tracker(2).write(step(2, 2), {});
    for (const fs::path& one : test::files_under(event_folder()))
      EXPECT_NO_FATAL_FAILURE(test::tf_records(test::read_file(one))) << "each is whole";
  }
}

TEST_F(Tracking, AFolderThatCannotBeWrittenIsAnError) {
  test::write_file(event_folder(), "a file");
  EXPECT_THROW(tracker(0), Error);
}

}  // namespace drift::tracking_test
