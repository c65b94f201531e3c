// Rewards and tasks in Python, which need no torch: they judge and make what the C++ examples do, from any thread, and
// their mistakes are errors with file and line.

#include "tests/support/alone.h"
#include "tests/support/support.h"

#include <tests/support/plugins.h>
#include <tests/support/python.h>
#include <tests/support/tasks.h>

#include <core/boundary/checked.h>
#include <core/boundary/made.h>
#include <core/plugin/plugin_loader.h>

#include <drift/unit_test.h>

#include <thread>

namespace drift::python_texts_test {

namespace fs = std::filesystem;
using namespace testing;
using unit_test::judge;
using Values = std::map<std::string, Parameter::Value>;

/// The entry of a class in a file, as a run has it.
ComponentEntry declared(ComponentKind kind, const std::string& file) {
  test::choose_python();
  return with_declaration(*test::load_plugin("python").find(kind, "python"), {{"file", file}});
}

template <class T>
Made<T> make(const std::string& file, const Values& values = {}) {
  const ComponentEntry entry = declared(T::kKind, file);
  return make_from_plugin<T>(test::host(), entry, Parameters(entry.params, values));
}

std::string example(const std::string& path) { return (test::source_dir() / "sdk/examples" / path).string(); }

/// The same component in C++.
template <class T>
Made<T> in_cpp(const std::string& name, const Values& values = {}) {
  static std::map<std::string, Registry> registries;
  const auto [place, is_new] = registries.try_emplace(name);
  if (is_new) PluginLoader(place->second).load_file(test::build_dir() / "tests/plugins" / ("libtest_" + name + ".so"));
  const ComponentEntry& entry = *place->second.find(T::kKind, name);
  return make_from_plugin<T>(test::host(), entry, Parameters(entry.params, values));
}

class PythonFile : public testing::Test {
 protected:
  /// A file with the classes of `text`.
  std::string write(const std::string& name, const std::string& text) const {
    test::write_file(folder_.path() / name, "import drift\n" + text);
    return (folder_.path() / name).string();
  }
  /// What the user is told when the reward judges.
  std::string error_of(const std::string& file) const {
    TaskItem item;
    item.id = "one";
    item.reference = "reference";
    return test::error_of([&] { checked_verdict(*make<Reward>(file), {"response", &item}); });
  }
  test::TemporaryFolder folder_;
};

// ---- what a file declares ----

TEST(PythonDeclaration, HasTheDocumentationAndTheParametersOfTheClass) {
  const ComponentEntry entry = declared(ComponentKind::kReward, example("near_match_python/near_match.py:NearMatch"));
  EXPECT_EQ(entry.doc, "Partial credit for a response that is similar to the reference.");
  ASSERT_EQ(entry.params.size(), 4u);
  EXPECT_EQ(entry.params[1].name, "floor");
  EXPECT_EQ(entry.params[1].default_value, Parameter::Value(0.5));
  EXPECT_EQ(entry.params[1].doc, "similarity from which a response earns something");
  EXPECT_EQ(entry.params[1].allowed.describe(), "[0, 1)");
  EXPECT_EQ(entry.params[2].default_value, Parameter::Value(true));
}

TEST_F(PythonFile, ParametersAreOfAllTypes) {
  const std::string file = write("types.py", R"(
class Reward(drift.Reward):
    """One of each."""
    count = drift.parameter(3, "an integer", above=0)
    rate = drift.parameter(0.5, "a number", minimum=0, infinite=True)
    mode = drift.parameter("a", "a text", choices=["a", "b"])
    table = drift.parameter("", "a path", path=True)
    names = drift.parameter(["x"], "texts")
    sizes = drift.parameter([], "integers", of=int)
    weights = drift.parameter([1.0, 0.5], "numbers", minimum=0)
    def score(self, request):
        values = [self.count, self.rate, self.mode, self.table, self.names, self.sizes, self.weights]
        return drift.Verdict(0, False, reason=repr(values))
)");
  const ComponentEntry entry = declared(ComponentKind::kReward, file);
  EXPECT_EQ(entry.params[1].allowed.describe(), "> 0");
  EXPECT_EQ(entry.params[2].allowed.describe(), ">= 0 or inf");
  EXPECT_EQ(entry.params[3].allowed.choices, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(entry.params[4].is_path);
  EXPECT_EQ(entry.params[6].default_value, Parameter::Value(std::vector<std::int64_t>{}));
  const auto reward = make<Reward>(
      file, {{"count", std::int64_t{7}}, {"mode", std::string("b")}, {"sizes", std::vector<std::int64_t>{1, 2}}});
  EXPECT_EQ(judge(*reward, "", "").reason, "[7, 0.5, 'b', '', ('x',), (1, 2), (1.0, 0.5)]");
}

TEST_F(PythonFile, ADeclarationThatContradictsItselfIsAMistake) {
  const std::string reward = "class R(drift.Reward):\n    'One.'\n    ";
  EXPECT_THAT(error_of(write("range.py", reward + "width = drift.parameter(-1.0, 'width', minimum=0)\n")),
              StartsWith("the default of the parameter `width` must be >= 0, not -1.0"));
  EXPECT_THAT(error_of(write("type.py", reward + "width = drift.parameter((1, 2), 'width')\n")),
              StartsWith("type.py:4: TypeError: a parameter cannot be of type tuple"));
  EXPECT_THAT(error_of(write("empty.py", reward + "widths = drift.parameter([], 'widths')\n")),
              StartsWith("empty.py:4: TypeError: the type of an empty list is not known"));
}

TEST_F(PythonFile, AFileWithOneClassOfTheKindNeedsNoName) {
  const std::string one = R"(
class First(drift.Reward):
    """The first."""
)";
  EXPECT_EQ(declared(ComponentKind::kReward, write("one.py", one)).doc, "The first.");
  const std::string two = write("two.py", one + "class Second(First):\n    \"\"\"The second.\"\"\"\n");
  EXPECT_EQ(declared(ComponentKind::kReward, two + ":Second").doc, "The second.");
  EXPECT_THAT(error_of(two), HasSubstr("declares several: First, Second, and `file` names no reward"));
  EXPECT_THAT(error_of(two + ":Frist"), HasSubstr("two.py has no reward `Frist` | did you mean `First`?"));
}

TEST_F(PythonFile, AModuleBesideTheFileCanBeImported) {
  write("words_of_mine.py", "GOOD = 'yes'\n");
  const auto reward = make<Reward>(write("uses.py", R"(
from words_of_mine import GOOD
class Reward(drift.Reward):
    """Uses a module."""
    def score(self, request):
        return drift.Verdict(1, True, reason=GOOD)
)"));
  EXPECT_EQ(judge(*reward, "", "").reason, "yes");
}

// ---- what they compute ----

TEST(PythonReward, JudgesAsTheSameRewardInCpp) {
  const Values values = {{"floor", 0.25}};
  const auto python = make<Reward>(example("near_match_python/near_match.py:NearMatch"), values);
  const auto cpp = in_cpp<Reward>("near_match", values);
  for (const std::string response :
       {"kitten", " kit\nten ", "sitting", "kitte", "abcdfg", "ki", " ", "größer", "12\t3"}) {
    for (const bool truncated : {false, true}) {
      const RewardResult got = judge(*python, response, "kitten", truncated),
                         want = judge(*cpp, response, "kitten", truncated);
      EXPECT_EQ(got.value, want.value) << response;
      EXPECT_EQ(got.solved, want.solved) << response;
      EXPECT_EQ(got.status, want.status) << response;
      EXPECT_EQ(got.reason, want.reason) << response;
    }
  }
}

TEST(PythonReward, AResponseMayHoldAnyByte) {
  const auto reward = make<Reward>(example("near_match_python/near_match.py"));
  EXPECT_FALSE(judge(*reward, std::string("kitten\xff\0", 8), "kitten").solved);
}

TEST(PythonReward, IsCalledFromSeveralThreads) {
  const auto reward = make<Reward>(example("near_match_python/near_match.py"));
  std::vector<double> sums(8);
  std::vector<std::thread> threads;
  for (double& sum : sums) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) sum += judge(*reward, i % 2 == 0 ? "kitten" : "kitte", "kitten").value;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double sum : sums) EXPECT_DOUBLE_EQ(sum, sums.front());
  EXPECT_NEAR(sums.front(), 100 + 100 * 2.0 / 3, 1e-9);
}

// The random streams of both languages are the same.
TEST(PythonTask, MakesTheItemsOfTheSameTaskInCpp) {
  const Values numbers = {{"number_high", std::int64_t{29}}};
  const auto python = make<Task>(example("carry_sums_python/carry_sums.py:CarrySums"), numbers);
  const auto cpp = in_cpp<Task>("carry_sums", numbers);
  const RandomStream random(7, "task");
  for (std::int64_t index = 0; index < 300; ++index) {
    TaskItem got, want;
    python->training_item(index << (index % 40), random, got);
    cpp->training_item(index << (index % 40), random, want);
    ASSERT_EQ(got.id, want.id) << index;
    EXPECT_EQ(got.prompt, want.prompt);
    EXPECT_EQ(got.reference, want.reference);
    EXPECT_EQ(got.demonstration, want.demonstration);
  }
  ASSERT_EQ(python->held_out_size(), cpp->held_out_size());
  for (std::int64_t index = 0; index < cpp->held_out_size(); ++index) {
    TaskItem got, want;
    python->held_out_item(index, got);
    cpp->held_out_item(index, want);
    EXPECT_EQ(got.id, want.id);
  }
}

TEST_F(PythonFile, ReportsThroughItsHost) {
  const ComponentEntry entry = declared(ComponentKind::kReward, write("host.py", R"(
class Reward(drift.Reward):
    """Reports."""
    def score(self, request):
        self.metric("length", len(request.response))
        return drift.Verdict(0, False, reason=str(self.random("draws").uniform(position=3)))
)"));
  const Registry none;
  RunHost run(none, 5);
  const auto reward = make_from_plugin<Reward>(run, entry, Parameters(entry.params));
  const std::string drawn = judge(*reward, "four", "").reason;
  judge(*reward, "eleven", "");
  EXPECT_THAT(run.take_metrics(test::alone), testing::ElementsAre(testing::Pair("python/length", 5.0)));
  EXPECT_EQ(std::stod(drawn), RandomStream(5, "reward").child("python").child("draws").uniform({0, 0, 3, 0}));
}

// ---- mistakes ----

TEST_F(PythonFile, AnExceptionIsAnErrorWithItsTraceback) {
  const std::string file = write("fails.py", R"(
class Reward(drift.Reward):
    """Fails."""
    def score(self, request):
        return self.half(0)
    def half(self, number):
        return 1 / number
)");
  EXPECT_THAT(error_of(file), AllOf(HasSubstr("`python`, score: fails.py:8: ZeroDivisionError: division by zero\n"
                                              "Traceback (most recent call last):\n"),
                                    HasSubstr("fails.py\", line 6, in score\n"),
                                    HasSubstr("fails.py\", line 8, in half\n"), testing::Not(HasSubstr("_host.py"))));
}

TEST_F(PythonFile, ExitAndInterruptEndNothing) {
  const std::string score = "    def score(self, request):\n        ";
  EXPECT_THAT(
      error_of(write("exits.py", "import sys\nclass R(drift.Reward):\n    'Exits.'\n" + score + "sys.exit(3)\n")),
      HasSubstr("exits.py:6: SystemExit: 3"));
  EXPECT_THAT(
      error_of(write("stops.py", "class R(drift.Reward):\n    'Stops.'\n" + score + "raise KeyboardInterrupt\n")),
      HasSubstr("stops.py:5: KeyboardInterrupt"));
}

TEST_F(PythonFile, AnErrorForTheUserHasNoTraceback) {
  EXPECT_THAT(error_of(write("asks.py", R"(
class R(drift.Reward):
    """Asks."""
    def __init__(self, **values):
        super().__init__(**values)
        raise drift.Error("the table is missing", "write one")
)")),
              HasSubstr("constructor: the table is missing | write one"));
}

TEST_F(PythonFile, WhatIsReturnedIsChecked) {
  const std::string score = "class R(drift.Reward):\n    'Returns.'\n    def score(self, request):\n        return ";
  EXPECT_THAT(error_of(write("number.py", score + "0.5\n")),
              HasSubstr("R.score() is of type float, not a drift.Verdict"));
  EXPECT_THAT(error_of(write("status.py", score + "drift.Verdict(0, False, 'rong')\n")),
              HasSubstr("the status of a verdict is 'rong'"));
  EXPECT_THAT(error_of(write("value.py", score + "drift.Verdict(2, True)\n")), HasSubstr("the value is 2"));
}

TEST_F(PythonFile, AFileThatCannotBeReadIsAMistakeOfTheDeclaration) {
  EXPECT_THAT(error_of(write("syntax.py", "class R(drift.Reward)\n")), StartsWith("syntax.py:2: SyntaxError: "));
  EXPECT_THAT(error_of(write("raises.py", "nothing\n")),
              StartsWith("raises.py:2: NameError: name 'nothing' is not defined"));
  EXPECT_THAT(error_of((folder_.path() / "absent.py").string()), HasSubstr("absent.py cannot be read: No such file"));
  EXPECT_THAT(error_of(write("none.py", "")), HasSubstr("none.py declares none, and `file` names no reward"));
  EXPECT_THAT(error_of(write("undocumented.py", "class R(drift.Reward): pass\n")), StartsWith("R has no docstring"));
  EXPECT_THAT(error_of(write("kind.py", "class T(drift.Task): pass\n") + ":T"), HasSubstr("is not a reward"));
  EXPECT_THAT(error_of(""), AllOf(StartsWith("Python 3."), HasSubstr("; `file` is not set")));
}

}  // namespace drift::python_texts_test
