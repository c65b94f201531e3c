// What a component gets from the program that runs it.

#include "tests/support/alone.h"
#include "tests/support/support.h"

#include <core/base/component_host.h>
#include <core/base/log.h>

#include <drift/error.h>
#include <drift/reward.h>

namespace drift::component_host_test {

using namespace testing;

class Speaker final : public Reward {
 public:
  Speaker(const Parameters&, Host& host) : host(host) {}
  void score(const RewardRequest&, RewardResult&) const override {}
  Host& host;
};

class Silent final : public Reward {
 public:
  explicit Silent(const Parameters&) {}
  void score(const RewardRequest&, RewardResult&) const override {}
};

class ComponentHostTest : public testing::Test {
 protected:
  ComponentHostTest() {
    registry_.add<Speaker>("speaker", "Speaks.");
    registry_.add<Speaker>("other", "Speaks.");
    registry_.add<Speaker>("loss", "Speaks.");
    registry_.add<Silent>("silent", "Takes no host.");
    set_warning_listener([this](const std::string& line) { warnings_.push_back(line); });
  }
  ~ComponentHostTest() override { set_warning_listener({}); }

  std::unique_ptr<Component> make(const std::string& name) {
    return host_.make(*registry_.find(ComponentKind::kReward, name), {});
  }
  Host& host_of(const std::string& name) {
    made_.push_back(make(name));
    return dynamic_cast<Speaker&>(*made_.back()).host;
  }

  Registry registry_;
  RunHost host_{registry_, 3};
  std::vector<std::unique_ptr<Component>> made_;
  std::vector<std::string> warnings_;
};

TEST_F(ComponentHostTest, AWarningNamesTheComponent) {
  host_of("speaker").log(LogLevel::kWarning, "the disk is slow");
  host_of("speaker").log(LogLevel::kInfo, "for the log alone");
  EXPECT_THAT(warnings_, ElementsAre("reward `speaker`: the disk is slow"));
}

TEST_F(ComponentHostTest, WarnOnceIsOncePerTextAndComponent) {
  for (const char* name : {"speaker", "speaker", "other"}) host_of(name).warn_once("no answer");
  host_of("speaker").warn_once("no question");
  EXPECT_THAT(warnings_,
              ElementsAre("reward `speaker`: no answer", "reward `other`: no answer", "reward `speaker`: no question"));
}

TEST_F(ComponentHostTest, AMetricIsAMeanOverTheStep) {
  host_of("speaker").metric("hits", 2, 4);
  host_of("speaker").metric("hits", 1, 2);
  host_of("speaker").metric("seconds", 0.5);
  host_of("speaker").metric("nothing", 0, 0);
  EXPECT_THAT(host_.take_metrics(test::alone), ElementsAre(Pair("speaker/hits", 0.5), Pair("speaker/seconds", 0.5)));
  EXPECT_THAT(host_.take_metrics(test::alone), IsEmpty()) << "the next step begins anew";
  EXPECT_THROW(host_of("loss").metric("hits", 1), Error) << "`loss/hits` would be the loss's";
  for (const char* name : {"", "a/b", "a b"}) EXPECT_THROW(host_of("speaker").metric(name, 1), Error) << name;
}

TEST_F(ComponentHostTest, StreamsDependOnSeedComponentAndName) {
  const RandomPoint point{1, 2, 3, 4};
  const double value = host_of("speaker").random("draws").uniform(point);
  EXPECT_EQ(host_of("speaker").random("draws").uniform(point), value);
  EXPECT_NE(host_of("other").random("draws").uniform(point), value);
  EXPECT_NE(host_of("speaker").random("others").uniform(point), value);
  RunHost other(registry_, 4);
  const auto made = other.make(*registry_.find(ComponentKind::kReward, "speaker"), {});
  EXPECT_NE(dynamic_cast<Speaker&>(*made).host.random("draws").uniform(point), value);
}

TEST_F(ComponentHostTest, AComponentNeedNotTakeItsHost) { EXPECT_NE(make("silent"), nullptr); }

}  // namespace drift::component_host_test
