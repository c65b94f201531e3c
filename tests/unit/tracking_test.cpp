// What a run writes for TensorBoard, byte by byte. tracking_cli_test has it read by its own package.

#include <core/record/histogram.h>
#include <core/record/message.h>
#include <core/record/tensorboard_events.h>
#include <core/record/tf_record.h>

#include <drift/error.h>

#include <tests/support/support.h>
#include <tests/support/tracking.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <vector>

namespace drift::tracking_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Crc32c, AgreesWithThePublishedCheckValue) { EXPECT_EQ(crc32c("123456789"), 0xE3069283); }

TEST(WireFormat, IsThatOfTheSpecification) {
  EXPECT_EQ(Message().integer(1, 150).bytes(), "\x08\x96\x01");
  EXPECT_EQ(Message().text(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(Message().message(3, Message().integer(1, 150)).bytes(), "\x1A\x03\x08\x96\x01");
  EXPECT_EQ(Message().integer(1, -2).bytes(), "\x08\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  EXPECT_EQ(Message().single(1, 1).bytes(), std::string("\x0D\x00\x00\x80\x3F", 5));
  EXPECT_EQ(Message().reals(6, {1}).bytes(), std::string("\x32\x08\x00\x00\x00\x00\x00\x00\xF0\x3F", 10));
}

TEST(WireFormat, FindsFieldsAndSurvivesDamage) {
  const std::string whole =
      Message().real(1, 0.5).single(4, 2).message(3, Message().text(7, "x").integer(2, 300)).bytes();
  EXPECT_EQ(find_field(whole, {3, 2})->integer, 300);
  EXPECT_EQ(find_field(whole, {3, 7})->text, "x");
  EXPECT_EQ(std::bit_cast<double>(find_field(whole, {1})->integer), 0.5);
  EXPECT_FALSE(find_field(whole, {5}));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(find_field(whole.substr(0, length), {3, 2}));
}

TEST(HistogramOf, CountsFiniteValues) {
  const auto histogram = histogram_of({0, 1, 2, 32, 32, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(histogram.count, 5);
  EXPECT_EQ(histogram.sum, 67);
  EXPECT_EQ(histogram.sum_of_squares, 1 + 4 + 2 * 1024);
  ASSERT_THAT(histogram.edges, SizeIs(kHistogramBins + 1));
  EXPECT_EQ(histogram.edges.front(), 0);
  EXPECT_EQ(histogram.edges.back(), 32);
  EXPECT_EQ(histogram.counts[0], 1);
  EXPECT_EQ(histogram.counts[1], 1);
  EXPECT_EQ(histogram.counts[31], 2) << "the last bin has its upper edge";
}

TEST(HistogramOf, PutsABinAroundEqualValues) {
  const auto histogram = histogram_of({3, 3});
  EXPECT_EQ(histogram.smallest, 3);
  EXPECT_EQ(histogram.edges.front(), 2.5);
  EXPECT_EQ(histogram.counts[kHistogramBins / 2], 2);
  EXPECT_THAT(histogram_of({}).counts, IsEmpty());
}

TEST(TfRecord, EndsBeforeWhatWasCutOffOrDamaged) {
  const std::string file = tf_record("one") + tf_record(std::string(40000, '2')) + tf_record("three");
  const auto whole = read_tf_records(file);
  ASSERT_THAT(whole, SizeIs(3));
  EXPECT_EQ(whole.back().end, file.size());
  for (std::size_t length = whole[1].begin; length < whole[1].end; ++length)
    ASSERT_THAT(read_tf_records(file.substr(0, length)), SizeIs(1)) << length;
  std::string damaged = file;
  damaged[whole[1].end - 5] ^= 1;
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
  EXPECT_EQ(find_field(events[0], {3})->text, "brain.Event:2");
  EXPECT_EQ(find_field(events[1], {7, 1})->integer, 1) << "SessionLog.START";
  EXPECT_EQ(find_field(events[2], {5, 1, 8, 8})->text, "    [train]\n    steps = 3\n    ");
  EXPECT_EQ(find_field(events[3], {2})->integer, 1);
  EXPECT_THAT(std::string(find_field(events[3], {5})->text), HasSubstr("loss/kl"));
  EXPECT_THAT(std::string(find_field(events[3], {5})->text), HasSubstr("    four\n    or 4"));
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
      if (event.find("loss/kl") != std::string::npos) steps.push_back(find_field(event, {2})->integer);
    }
  }
  EXPECT_THAT(steps, ElementsAre(1, 2));
  const auto events = test::tf_records(test::read_file(test::files_under(event_folder()).back()));
  EXPECT_EQ(find_field(events[1], {2})->integer, 2) << "a reader drops what it has read of steps from 2 on";
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

}  // namespace
}  // namespace drift::tracking_test
