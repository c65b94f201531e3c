#include "carry_sums.cpp"

#include <drift/unit_test.h>

#include <gtest/gtest.h>

#include <set>

namespace {

std::unique_ptr<CarrySums> make_task() {
  static drift::unit_test::RecordingHost host;
  return drift::unit_test::make<CarrySums>(host, {{"number_high", std::int64_t{9}}}, CarrySums::parameters());
}

TEST(CarrySums, AskForASum) {
  drift::TaskItem item;
  make_task()->training_item(0, drift::RandomStream(1, "task"), item);
  const auto plus = item.id.find('+');
  EXPECT_EQ(std::stoi(item.id) + std::stoi(item.id.substr(plus + 1)), std::stoi(item.reference)) << item.id;
  EXPECT_NE(item.prompt.find(item.id + "="), std::string::npos) << item.prompt;
}

TEST(CarrySums, NeverTrainOnWhatIsHeldOut) {
  const auto task = make_task();
  std::set<std::string> held_out;
  drift::TaskItem item;
  for (std::int64_t i = 0; i < task->held_out_size(); ++i) {
    task->held_out_item(i, item);
    EXPECT_TRUE(held_out.insert(item.id).second) << item.id << " twice";
  }
  for (std::int64_t i = 0; i < 500; ++i) {
    task->training_item(i, drift::RandomStream(1, "task"), item);
    EXPECT_EQ(held_out.count(item.id), 0u) << item.id;
  }
}

TEST(CarrySums, AnItemDependsOnItsNumberAlone) {
  const auto task = make_task();
  drift::TaskItem first, again;
  task->training_item(7, drift::RandomStream(1, "task"), first);
  task->training_item(3, drift::RandomStream(1, "task"), again);
  task->training_item(7, drift::RandomStream(1, "task"), again);
  EXPECT_EQ(first.id, again.id);
  EXPECT_EQ(first.demonstration, again.demonstration);
}

}  // namespace
