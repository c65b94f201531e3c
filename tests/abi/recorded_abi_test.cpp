// The recorded ABI (sdk/abi): the public headers match the record, and an unintended change is found and named.

#include <tests/support/support.h>

namespace drift::recorded_abi_test {

namespace fs = std::filesystem;
using namespace testing;

const fs::path kAbi = test::source_dir() / "sdk" / "abi";
const fs::path kHeaders = test::source_dir() / "core" / "include" / "drift";

class RecordedAbi : public testing::Test {
 protected:
  void SetUp() override {
    const char* reason = std::getenv("DRIFT_ABI_SKIP");  // why this build cannot compare: CMakeLists.txt
    ASSERT_NE(reason, nullptr) << "DRIFT_ABI_SKIP is not set: run the tests through ctest";
    if (*reason != '\0') GTEST_SKIP() << reason;
  }

  static test::CommandResult compare(const fs::path& headers) {
    return test::run_command((kAbi / "compare").string() + " " + headers.string());
  }
};

struct Change {
  const char* name;
  const char* header;
  const char* from;
  const char* to;
  const char* says;
};

class AccidentalChange : public RecordedAbi, public testing::WithParamInterface<Change> {};

TEST_F(RecordedAbi, IsThatOfTheHeaders) {
  const auto result = compare(kHeaders.parent_path());
  EXPECT_EQ(result.status, 0) << result.output << result.error
                              << "\nIf this change was meant and docs/plugin_abi.md allows it: sdk/abi/record";
}

TEST_P(AccidentalChange, IsFoundAndNamed) {
  const Change& change = GetParam();
  const test::TemporaryFolder folder;
  fs::copy(kHeaders, folder.path() / "drift");
  std::string text = test::read_file(kHeaders / change.header);
  const auto position = text.find(change.from);
  ASSERT_NE(position, std::string::npos) << change.header << " has no longer: " << change.from;
  test::write_file(folder.path() / "drift" / change.header,
                   text.replace(position, std::string(change.from).size(), change.to));

  const auto result = compare(folder.path());
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.output, HasSubstr(change.says)) << result.error;
}

INSTANTIATE_TEST_SUITE_P(
    OneOfEachKind, AccidentalChange,
    testing::Values(Change{"VirtualFunctionAdded", "loss_estimator.h", "  virtual Coupling coupling()",
                           "  virtual void more() const {}\n  virtual Coupling coupling()",
                           "drift::LossEstimator::more()"},
                    Change{"VirtualFunctionRenamed", "model.h", "virtual at::Tensor lm_head_VH()",
                           "virtual at::Tensor head_VH()", "drift::Model::head_VH()"},
                    Change{"FieldInserted", "trajectories.h", "  at::Tensor tokens_BP;",
                           "  bool padded = true;\n  at::Tensor tokens_BP;", "'bool padded', at offset 0"},
                    Change{"FieldOfAnotherType", "task.h", "std::string demonstration;",
                           "std::string_view demonstration;", "'drift::TaskItem::demonstration' changed"},
                    Change{"EnumeratorRenumbered", "reward.h", "kWrong = 3", "kWrong = 9",
                           "'drift::RewardStatus::kWrong' from value '3' to '9'"},
                    Change{"FieldOfTheCInterfaceMoved", "pure.h", "  const double* weight_F;",
                           "  const double* first_F;\n  const double* weight_F;", "DriftLossInput"}),
    [](const auto& info) { return info.param.name; });

// How a structure grows: docs/plugin_abi.md, "Reserved space".
TEST_F(RecordedAbi, AFieldInReservedSpaceMovesNothing) {
  const test::TemporaryFolder folder;
  fs::copy(kHeaders, folder.path() / "drift");
  std::string text = test::read_file(kHeaders / "reward.h");
  const std::string room = "Reserved<std::int64_t, 4> reserved_numbers = {};";
  const auto place = text.find(room, text.find("struct RewardRequest"));
  ASSERT_NE(place, std::string::npos);
  const std::string field = "std::int64_t forwards = 0;\n  Reserved<std::int64_t, 3> reserved_numbers = {};";
  test::write_file(folder.path() / "drift/reward.h", text.replace(place, room.size(), field));
  EXPECT_THAT(compare(folder.path()).output,
              AllOf(HasSubstr("1 leaf type changed"),
                    HasSubstr("'struct drift::RewardRequest' changed:\n  type size hasn't changed\n  1 data member "
                              "insertion:")));
}

// Exactly what is promised: a missing symbol breaks plugins, and an unrecorded one would become a promise.
TEST(RecordedSymbols, AreWhatLibdriftExports) {
  const auto exported = test::run_command("nm -D --defined-only " + (test::build_dir() / "lib/libdrift.so").string() +
                                          " | awk '$2 ~ /^[TDBR]$/ { print $3 }'");  // not inline functions' copies
  ASSERT_EQ(exported.status, 0) << exported.error;
  const auto lines = [](const std::string& text) {
    std::istringstream stream(text);
    std::set<std::string> found;
    for (std::string line; std::getline(stream, line);) found.insert(line);
    return found;
  };
  const auto recorded = lines(test::read_file(kAbi / "drift.symbols")), found = lines(exported.output);
  EXPECT_GT(recorded.size(), 20u);
  const auto missing_in = [](const std::set<std::string>& all, const std::set<std::string>& from) {
    std::string names;
    for (const std::string& symbol : from) {
      if (!all.contains(symbol)) names += test::run_command("c++filt " + symbol).output;
    }
    return names;
  };
  EXPECT_EQ(missing_in(found, recorded), "") << "recorded, but no longer exported";
  EXPECT_EQ(missing_in(recorded, found), "") << "exported, but not recorded: sdk/abi/record";
}

TEST(RecordedSurface, CoversEveryPublicHeader) {
  const std::string surface = test::read_file(kAbi / "surface.cpp");
  for (const auto& header : fs::directory_iterator(kHeaders)) {
    const std::string name = header.path().filename().string();
    if (name == "export.h") continue;     // a macro alone
    if (name == "unit_test.h") continue;  // compiled into tests of plugins alone
    EXPECT_THAT(surface, HasSubstr("#include <drift/" + name + ">")) << "add it and its types to sdk/abi/surface.cpp";
  }
}

}  // namespace drift::recorded_abi_test
