// The public interface between a plugin and the host: capabilities, and structures that grow. The plugin is compiled
// here against two versions of the headers; the older one has fewer fields and functions.

#include <core/base/component_host.h>
#include <core/base/model_policy.h>
#include <core/plugin/plugin_loader.h>
#include <core/update/batch_totals.h>
#include <core/update/policy_gradient.h>

#include <drift/cached_forward.h>
#include <drift/masking_strategy.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <tests/support/support.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <regex>

namespace drift {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;

const fs::path kHeaders = test::source_dir() / "core" / "include" / "drift";

/// Takes `lines` out of a header, and gives the slots of fields back to the room that is kept for later ones.
void take_out(const fs::path& header, const std::vector<std::string>& fields, const std::string& function = "") {
  std::string text = test::read_file(header);
  for (const std::string& field : fields) {
    const auto begin = text.find("  at::Tensor " + field);
    ASSERT_NE(begin, std::string::npos) << header << " has no longer: " << field;
    text.erase(begin, text.find(";", begin) + 1 - begin);
    std::smatch room;
    const std::string behind = text.substr(begin);
    ASSERT_TRUE(std::regex_search(behind, room, std::regex("Reserved<at::Tensor, ([0-9]+)>")));
    text.replace(begin + static_cast<std::size_t>(room.position(1)), static_cast<std::size_t>(room.length(1)),
                 std::to_string(std::stoi(room[1]) + 1));
  }
  if (!function.empty()) {
    const auto begin = text.find(function);
    ASSERT_NE(begin, std::string::npos) << header << " has no longer: " << function;
    text.erase(begin, text.find(";", begin) + 1 - begin);
  }
  test::write_file(header, text);
}

/// The same of a field that took several slots, or none of a tensor.
void put_back(const fs::path& header, const std::string& field, const std::string& room) {
  std::string text = test::read_file(header);
  const auto begin = text.find(field);
  ASSERT_NE(begin, std::string::npos) << header << " has no longer: " << field;
  const auto end = text.find(" reserved_", begin);
  test::write_file(header, text.replace(begin, end - begin, room));
}

/// The plugin, built against the headers in `folder`.
fs::path build(const fs::path& folder, bool older) {
  const std::string torch = std::getenv("DRIFT_LIBTORCH_ROOT");
  const auto file = folder / (older ? "libolder.so" : "libtoday.so");
  const auto result = test::run_command(
      std::string(std::getenv("CXX")) + " -std=c++20 -O0 -fPIC -shared -fvisibility=hidden -DOLDER=" +
      (older ? "true" : "false") + " -I" + folder.string() + " -isystem " + torch + "/include " +
      (test::source_dir() / "tests/abi/plugins/everything.cpp").string() + " -o " + file.string() + " -L" +
      (test::build_dir() / "lib").string() + " -ldrift -L" + torch + "/lib -ltorch_cpu -lc10");
  EXPECT_EQ(result.status, 0) << result.error;
  return file;
}

/// A plugin's components, made by this host.
class Plugin {
 public:
  explicit Plugin(const fs::path& file) { PluginLoader(registry_).load_file(file); }

  template <class T>
  std::unique_ptr<T> make(const std::string& name, const ModelConfig* config = nullptr) const {
    const ComponentEntry* entry = registry_.find(T::kKind, name);
    if (entry == nullptr) throw Error("no " + name);
    auto made = make_component(*entry, Params(entry->params), config);
    return std::unique_ptr<T>(dynamic_cast<T*>(made.release()));
  }

  /// A rollout, its plan, and the gradient of its loss: everything that structures are passed for.
  struct Step {
    at::Tensor tokens_BL;
    PolicyGradient gradient;
    std::map<std::string, double, std::less<>> metrics;
  };
  Step train_step() const {
    take_component_metrics();
    const ModelConfig config{"{}", at::kDouble, at::kCPU};
    const auto model = make<Model>("tiny", &config);
    model->initialize(RandomStream(1, "initialize"));
    const ModelPolicy policy(*model);
    RolloutInput input;
    input.policy = &policy;
    input.prompts = {at::full({3, 2}, 5, at::kLong), at::ones({3, 2}, at::kBool), at::arange(3, at::kLong)};
    input.random = RandomStream(1, "rollout");
    Trajectories trajectories;
    {
      const at::NoGradGuard no_gradient;
      make<Rollout>("left_to_right")->generate(input, trajectories);
    }
    MaskingInput masking;
    masking.trajectories = &trajectories;
    masking.response_number_B = at::arange(3, at::kLong);
    MaskPlan plan;
    make<MaskingStrategy>("one_mask")->plan(masking, plan);
    UpdateBatch batch;
    batch.trajectories = &trajectories;
    batch.plan = &plan;
    batch.advantage_B = at::tensor(std::vector<double>{1.0, -0.5, -0.5}, at::kDouble);
    batch.totals = batch_totals(plan, 3, 3, 1);
    batch.scored_B = scored_positions(plan, 3);
    return {trajectories.tokens_BL, policy_gradient(*model, *make<LossEstimator>("clipped"), batch, 1 << 20),
            take_component_metrics()};
  }

 private:
  Registry registry_;
};

class Interface : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::TemporaryFolder>();
    for (const char* version : {"today", "older"}) {
      fs::create_directories(folder_->path() / version);
      fs::copy(kHeaders, folder_->path() / version / "drift");
    }
    const auto older = folder_->path() / "older" / "drift";
    take_out(older / "loss_estimator.h", {"return_BL", "value_BL", "advantage_BL", "reference_entropy_FL"});
    take_out(older / "mask_plan.h", {"attended_FL"});
    take_out(older / "model.h", {"dropout_key_B", "adapted_B"});
    put_back(older / "model.h", "std::array<std::int64_t, 4> further_end_ids", "Reserved<std::int64_t, 8>");
    put_back(older / "model.h", "std::string generation_config_json", "Reserved<std::string, 2>");
    take_out(older / "masking_strategy.h", {"end_ids_E"});
    put_back(older / "task.h", "std::string earlier_turns", "Reserved<std::string, 4>");
    take_out(older / "trajectories.h", {"computed_end_BK", "computed_begin_BK"});
    take_out(older / "host.h", {}, "  virtual std::int64_t threads() const = 0");
    take_out(older / "policy.h", {}, "  virtual std::unique_ptr<KeyValueCache> make_cache(");
    today_ = std::make_unique<Plugin>(build(folder_->path() / "today", false));
    older_ = std::make_unique<Plugin>(build(folder_->path() / "older", true));
  }
  static void TearDownTestSuite() {
    today_.reset();
    older_.reset();
    folder_.reset();
  }

  static inline std::unique_ptr<test::TemporaryFolder> folder_;
  static inline std::unique_ptr<Plugin> today_, older_;
};

TEST_F(Interface, APluginOfSmallerStructuresTrainsLikeOneOfToday) {
  const auto today = today_->train_step(), older = older_->train_step();
  EXPECT_TRUE(today.tokens_BL.equal(older.tokens_BL));
  EXPECT_EQ(today.gradient.loss, older.gradient.loss);
  EXPECT_NE(today.gradient.loss, 0);
  ASSERT_EQ(today.gradient.gradients.size(), older.gradient.gradients.size());
  for (std::size_t p = 0; p < today.gradient.gradients.size(); ++p) {
    EXPECT_TRUE(today.gradient.gradients[p].equal(older.gradient.gradients[p])) << p;
  }
  EXPECT_EQ(older.gradient.metrics.at("ratio").sum, today.gradient.metrics.at("ratio").sum);
}

TEST_F(Interface, OneComponentHasSeveralCapabilities) {
  for (const Plugin* plugin : {today_.get(), older_.get()}) {
    const ModelConfig config{"{}", at::kFloat, at::kMeta};
    const auto model = plugin->make<Model>("tiny", &config);
    EXPECT_NE(capability<CachedForward>(*model), nullptr);
    EXPECT_NE(capability<BlockAttention>(*model), nullptr);
    ASSERT_NE(capability<Adapters>(*model), nullptr);
    EXPECT_EQ(capability<Adapters>(*model)->adapter_parameters().front().name, "adapter");
    EXPECT_EQ(capability<ScoredRows>(*model), nullptr);
    RolloutCost cost;
    const auto rollout = plugin->make<Rollout>("left_to_right");
    capability<RolloutCostEstimate>(*rollout)->estimate_cost(*model, 1, 1, true, cost);
    EXPECT_EQ(cost.most_forwards, 4);
    const auto task = plugin->make<Task>("numbers");
    capability<TrainingList>(*task)->keep({0, 2});
    EXPECT_EQ(capability<TrainingList>(*task)->training_size(), 2);
  }
}

/// Says no to what it has by its class: what it wraps lacks it.
struct Wrapper final : Task, TrainingList {
  bool has_capability(const std::type_info& asked) const override { return asked != typeid(TrainingList); }
  void training_item(std::int64_t, const RandomStream&, TaskItem&) const override {}
  std::int64_t held_out_size() const override { return 0; }
  void held_out_item(std::int64_t, TaskItem&) const override {}
  std::int64_t training_size() const override { return 0; }
  void listed_item(std::int64_t, TaskItem&) const override {}
  void keep(const std::vector<std::int64_t>&) override {}
};

TEST_F(Interface, AComponentMaySayThatACapabilityDoesNotCount) {
  const Wrapper wrapper;
  EXPECT_EQ(capability<TrainingList>(wrapper), nullptr);
}

TEST_F(Interface, NamesThatAreFoundAtRunTimeAreRegisteredWithWhatTheyNeed) {
  for (const char* name : {"found_first", "found_second"}) {
    TaskItem item;
    item.reference = "42";
    RewardResult result;
    today_->make<Reward>(name)->score({.response = "42", .item = &item}, result);
    EXPECT_TRUE(result.solved);
  }
}

TEST_F(Interface, WhatAComponentReportsIsAMetricUnderItsName) {
  EXPECT_THAT(older_->train_step().metrics, ElementsAre(std::pair<const std::string, double>("one_mask/views", 3)));
}

// docs/plugin_abi.md, "A worked example": its two declarations, put where the page says, are the only difference to the
// recorded ABI.
TEST(WorkedExample, AddsAFieldAndMovesNothing) {
  const char* reason = std::getenv("DRIFT_ABI_SKIP");
  ASSERT_NE(reason, nullptr) << "DRIFT_ABI_SKIP is not set: run the tests through ctest";
  if (*reason != '\0') GTEST_SKIP() << reason;
  const std::string page = test::read_file(test::source_dir() / "docs/plugin_abi.md");
  const std::string field = "std::int64_t forwards = 0;  // since 1.2";
  const std::string room = "Reserved<std::int64_t, 3> reserved_numbers = {};";
  ASSERT_NE(page.find("`" + field + "`"), std::string::npos);
  ASSERT_NE(page.find("`" + room + "`"), std::string::npos);
  const test::TemporaryFolder folder;
  fs::copy(kHeaders, folder.path() / "drift");
  const fs::path header = folder.path() / "drift/reward.h";
  std::string text = test::read_file(header);
  const std::string before = "Reserved<std::int64_t, 4> reserved_numbers = {};";
  const auto place = text.find(before, text.find("struct RewardRequest"));
  ASSERT_NE(place, std::string::npos);
  test::write_file(header, text.replace(place, before.size(), field + "\n  " + room));

  const auto compared =
      test::run_command((test::source_dir() / "sdk/abi/compare").string() + " " + folder.path().string());
  EXPECT_THAT(
      compared.output,
      testing::AllOf(
          testing::HasSubstr("1 leaf type changed"),
          testing::HasSubstr(
              "'struct drift::RewardRequest' changed:\n  type size hasn't changed\n  1 data member insertion:")));
}

}  // namespace
}  // namespace drift
