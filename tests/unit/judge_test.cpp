// [reward] and [reward.added.LABEL]: several rewards judge a response, one of them decides whether it is solved.

#include <core/config/run_config.h>
#include <core/rollout/judge.h>

#include <drift/registry.h>

#include <tests/support/support.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace drift::judge_test {

using namespace testing;

/// Solved if the response is the reference.
class Equals final : public Reward {
 public:
  explicit Equals(const Parameters&) {}
  void score(const RewardRequest& request, RewardResult& result) const override {
    if (request.item->reference == "unreadable") throw Error("cannot read the reference of item " + request.item->id);
    result.solved = request.response == request.item->reference;
    result.value = result.solved ? 1 : 0;
    result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
    result.reason = result.solved ? "equal" : "different";
  }
};

/// Longer responses are better; a cut-off one is worth nothing.
class Length final : public Reward {
 public:
  explicit Length(const Parameters& params) : longest_(static_cast<double>(params.get<std::int64_t>("longest"))) {}
  void score(const RewardRequest& request, RewardResult& result) const override {
    result.value = request.truncated ? 0 : static_cast<double>(request.response.size()) / longest_;
    result.solved = true;
  }

 private:
  double longest_;
};

/// Cannot judge "flaky" at the first time, and "broken" never.
class Moody final : public Reward {
 public:
  explicit Moody(const Parameters&) {}
  void score(const RewardRequest& request, RewardResult& result) const override {
    const int call = calls++;
    const bool fails = request.response == "broken" || (request.response == "flaky" && call == 0);
    result.status = fails ? RewardStatus::kInfrastructure : RewardStatus::kOk;
    result.reason = fails ? "no sandbox" : "fine";
    result.value = fails ? 0 : 1;
  }
  static std::atomic<int> calls;
};
std::atomic<int> Moody::calls = 0;

/// Good if as many responses as it has workers are judged at a time.
class Crowd final : public Reward {
 public:
  explicit Crowd(const Parameters& params) : workers_(params.get<std::int64_t>("workers")) {}
  void score(const RewardRequest&, RewardResult& result) const override {
    constexpr auto kForever = std::chrono::minutes(2);  // where nobody comes
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    result.value = changed_.wait_for(lock, kForever, [&] { return inside_ >= workers_; }) ? 1 : 0;
  }

 private:
  const std::int64_t workers_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::int64_t inside_ = 0;
};

Registry make_registry() {
  Registry registry;
  registry.add<Equals>("equals", "");
  registry.add<Length>("length", "", {{"longest", 10, "length that is worth 1", at_least(1)}});
  registry.add<Moody>("moody", "");
  registry.add<Crowd>("crowd", "", {{"workers", 1, "responses that it judges at a time"}});
  return registry;
}

class Judging : public testing::Test {
 protected:
  RunConfig resolve(const std::string& toml) const {
    test::write_file(folder_.path() / "run.toml", toml);
    return resolve_config(load_document(folder_.path() / "run.toml", {}), registry_, ConfigPurpose::kJudge);
  }
  Judge judge(const std::string& toml) const { return Judge(host_, resolve(toml)); }
  std::string mistakes(const std::string& toml) const {
    try {
      resolve(toml);
    } catch (const ConfigError& error) {
      return error.text(false);
    }
    return "no mistake";
  }

  test::TemporaryFolder folder_;
  Registry registry_ = make_registry();
  mutable RunHost host_{registry_};
  TaskItem item_{.id = "1",
                 .prompt = "2 + 2 =",
                 .reference = "4",
                 .demonstration = "",
                 .response_prefix = "",
                 .earlier_turns = ""};
};

TEST_F(Judging, OneRewardIsTakenAsItIs) {
  const Judge judge = this->judge("[reward]\nname = \"equals\"\n");
  EXPECT_THAT(judge.labels(), ElementsAre("equals"));
  const std::vector<RewardRequest> requests = {{"4", &item_}, {"5", &item_}};
  const auto judgements = judge.judge(requests);
  EXPECT_EQ(judgements[0].value, 1);
  EXPECT_TRUE(judgements[0].solved);
  EXPECT_EQ(judgements[1].value, 0);
  EXPECT_EQ(judgements[1].reason, "different");
}

TEST_F(Judging, AddedRewardsCountInTheValueAndNotInTheAccuracy) {
  const Judge judge = this->judge(R"(
[reward]
name = "equals"
weight = 2.0
[reward.added.length]
weight = 0.5
longest = 4
[reward.added.brevity]
name = "length"
weight = -1.0
)");
  EXPECT_THAT(judge.labels(), ElementsAre("equals", "brevity", "length"));
  EXPECT_THAT(judge.weights(), ElementsAre(2.0, -1.0, 0.5));
  const std::vector<RewardRequest> requests = {{"4", &item_}, {"four", &item_}};
  const auto judgements = judge.judge(requests);
  EXPECT_DOUBLE_EQ(judgements[0].value, 2.0 * 1 - 1.0 * 0.1 + 0.5 * 0.25);
  EXPECT_TRUE(judgements[0].solved);
  EXPECT_DOUBLE_EQ(judgements[1].value, -1.0 * 0.4 + 0.5 * 1);
  EXPECT_FALSE(judgements[1].solved) << "the added rewards call everything solved";
  EXPECT_EQ(judgements[1].parts[0].value, 0);
  EXPECT_EQ(judgements[1].parts[2].value, 1);
}

TEST_F(Judging, ARewardLearnsThatAResponseWasTruncated) {
  const Judge judge = this->judge("[reward]\nname = \"length\"\n");
  const std::vector<RewardRequest> requests = {{"12345", &item_, true}, {"12345", &item_, false}};
  const auto judgements = judge.judge(requests);
  EXPECT_EQ(judgements[0].value, 0);
  EXPECT_EQ(judgements[1].value, 0.5);
}

TEST_F(Judging, OnlyWhatStandsBehindAMarkCounts) {
  const Judge judge =
      this->judge("[reward]\nname = \"equals\"\nafter = \"</think>\"\n[reward.added.length]\nlongest = 100\n");
  TaskItem given = item_;
  given.response_prefix = "<think></think>";
  const std::vector<RewardRequest> requests = {{"<think>5</think>4", &item_},
                                               {"4", &item_},
                                               {"<think>4", &item_},
                                               {"a</think>b</think>4", &item_},
                                               {"4", &given}};
  const auto judgements = judge.judge(requests);
  for (const std::size_t right : {0, 3, 4}) EXPECT_TRUE(judgements[right].solved) << right;
  for (const std::size_t wrong : {1, 2}) {
    EXPECT_FALSE(judgements[wrong].solved);
    EXPECT_EQ(judgements[wrong].status, RewardStatus::kNoAnswer);
    EXPECT_EQ(judgements[wrong].reason, "the response has no </think>");
  }
  EXPECT_EQ(judgements[1].value, 0.01) << "an added reward has a mark of its own";
}

TEST_F(Judging, ABadReferenceMayLeaveTheOthersTheirVerdict) {
  const Judge judge = this->judge("[reward]\nname = \"equals\"\n");
  TaskItem bad = item_;
  bad.reference = "unreadable";
  const std::vector<RewardRequest> requests = {{"4", &item_}, {"4", &bad}, {"5", &item_}};
  EXPECT_THROW(judge.judge(requests), Error);
  const auto judgements = judge.judge(requests, BadReference::kNotJudged);
  EXPECT_TRUE(judgements[0].solved);
  EXPECT_EQ(judgements[1].status, RewardStatus::kInfrastructure);
  EXPECT_THAT(judgements[1].reason, HasSubstr("cannot read the reference of item 1"));
  EXPECT_EQ(judgements[2].status, RewardStatus::kWrong);
}

TEST_F(Judging, EqualResponsesAreJudgedOnceAndInfrastructureIsTriedAgain) {
  const Judge judge = this->judge("[reward]\nname = \"moody\"\n");
  Moody::calls = 0;
  const std::vector<RewardRequest> flaky(5, {"flaky", &item_});
  for (const Judgement& judgement : judge.judge(flaky)) EXPECT_EQ(judgement.value, 1);
  EXPECT_EQ(Moody::calls, 2) << "one failure, one success, four copies";
}

TEST_F(Judging, AResponseThatNoRewardCouldJudgeIsNotWrong) {
  const Judge judge = this->judge("[reward]\nname = \"equals\"\n[reward.added.moody]\n");
  const std::vector<RewardRequest> requests = {{"broken", &item_}};
  const auto judgements = judge.judge(requests);
  EXPECT_EQ(judgements[0].status, RewardStatus::kInfrastructure);
  EXPECT_EQ(judgements[0].reason, "no sandbox");
}

TEST_F(Judging, ManyRequestsKeepTheirOrder) {
  const Judge judge = this->judge("[reward]\nname = \"length\"\nlongest = 1000\n");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 1000; ++i) texts.emplace_back(i, 'x');
  std::vector<RewardRequest> requests;
  for (const std::string& text : texts) requests.push_back({text, &item_});
  const auto judgements = judge.judge(requests);
  for (std::size_t i = 0; i < judgements.size(); ++i)
    EXPECT_DOUBLE_EQ(judgements[i].value, static_cast<double>(i) / 1000);
}

TEST_F(Judging, ARewardsWorkersAreUsed) {
  const Judge judge = this->judge("[reward]\nname = \"equals\"\n[reward.added.crowd]\nworkers = 40\n");
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back(std::to_string(i));
  std::vector<RewardRequest> requests;
  for (const std::string& text : texts) requests.push_back({text, &item_});
  for (const Judgement& judgement : judge.judge(requests)) EXPECT_EQ(judgement.parts[1].value, 1);
}

TEST_F(Judging, MistakesInAddedRewardsAreReported) {
  const std::string reward = "[reward]\nname = \"equals\"\n";
  EXPECT_THAT(mistakes(reward + "[reward.added]\nweight = 1.0\n"),
              HasSubstr("write [reward.added.LABEL], with a label of your choice"));
  EXPECT_THAT(mistakes(reward + "[reward.added.nonsense]\nweight = 1.0\n"), HasSubstr("no reward is named"));
  EXPECT_THAT(mistakes(reward + "[reward.added.x]\nname = \"lenght\"\n"), HasSubstr("did you mean `length`?"));
  EXPECT_THAT(mistakes(reward + "[reward.added.length]\nlongst = 4\n"), HasSubstr("did you mean `longest`?"));
  EXPECT_THAT(mistakes(reward + "[reward.added.length]\nlongest = 0\n"), HasSubstr("must be >= 1"));
}

}  // namespace drift::judge_test
