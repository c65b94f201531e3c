// Python functions of models, judged end to end: the plugin, its judge and its sandbox.

#include <core/base/plain_threads.h>

#include <drift/error.h>

#include <gmock/gmock.h>

#include "tests/support/code.h"
#include "tests/support/support.h"

namespace drift::code_reward_test {
namespace {

using test::code_item;
using test::expect;
using test::in_block;
using test::judge_code;
using test::judge_response;
using testing::HasSubstr;
using testing::StartsWith;

using CodeReward = test::NeedsSandbox<>;

void expect_solved(const RewardResult& result) { expect(result, 1, RewardStatus::kOk, ""); }

std::unique_ptr<Reward> reward_with(const test::ParamValues& values) {
  return test::create<Reward>("code", "code", values);
}

TEST_F(CodeReward, ARightFunctionPassesAllTests) {
  expect(judge_code("def double(x):\n    return 2 * x", {"assert double(2) == 4", "assert double(-1) == -2"}), 1,
         RewardStatus::kOk, "2 of 2 tests passed (the last block that defines what is tested)");
}

TEST_F(CodeReward, TheValueIsTheShareOfPassedTests) {
  const std::vector<std::string> tests = {"assert f(2) == 4", "assert f(3) == 9", "assert f(0) == 0",
                                          "assert f(-2) == 4"};
  expect(judge_code("def f(x):\n    return x + x", tests), 0.5, RewardStatus::kWrong,
         "2 of 4 tests passed; test 2: wrong");
  expect(judge_code("def f(x):\n    return 100 // x", tests), 0, RewardStatus::kWrong, "0 of 4 tests passed");
  const auto all = reward_with({{"score", "all"}});
  expect(judge_code("def f(x):\n    return x + x", tests, *all), 0, RewardStatus::kWrong, "2 of 4 tests passed");
  expect_solved(judge_code("def f(x):\n    return x * x", tests, *all));
}

TEST_F(CodeReward, CodeThatDoesNotLoadPassesNothing) {
  const std::vector<std::string> tests = {"assert f(1) == 1"};
  expect(judge_code("def f(x:\n    return x", tests), 0, RewardStatus::kParseError, "SyntaxError while loading");
  expect(judge_code("def f(x):\nreturn x", tests), 0, RewardStatus::kParseError, "IndentationError while loading");
  expect(judge_code("y = z\ndef f(x):\n    return x", tests), 0, RewardStatus::kCrashed, "NameError while loading");
  expect(judge_code("def g(x):\n    return x", tests), 0, RewardStatus::kWrong,
         "0 of 1 test passed; test 1: raises NameError");
  expect(judge_response("I do not know.", code_item({{"test_list", tests}})), 0, RewardStatus::kNoAnswer,
         "no code block");
  expect(judge_code("#" + std::string(1 << 16, 'x'), tests), 0, RewardStatus::kParseError, "more than 64 KiB of code");
  expect(judge_code(std::string("f = len\0", 8), tests), 0, RewardStatus::kParseError, "code with a NUL byte");
  expect(judge_code("f = '\xFF'", tests), 0, RewardStatus::kCrashed, "UnicodeDecodeError while loading");
}

TEST_F(CodeReward, PlainValuesKeepTheirTypes) {
  const std::vector<std::string> values = {"None",
                                           "True",
                                           "-5",
                                           "0",
                                           "255",
                                           "-128",
                                           "10**300",
                                           "-(1 << 64)",
                                           "0.1",
                                           "float('inf')",
                                           "-0.0",
                                           "2j - 1.5",
                                           "''",
                                           "'h\\u00e9 \\U0001F600 \\0'",
                                           "b'\\xff\\0'",
                                           "[]",
                                           "[1, [2, []]]",
                                           "()",
                                           "(1,)",
                                           "{1, 'a', (2, 3)}",
                                           "frozenset({1})",
                                           "{1: [2], 'a': {}, (1, 2): None}",
                                           "int",
                                           "[str, dict]"};
  for (const std::string& value : values) {
    expect_solved(
        judge_code("def f(x):\n    return x",
                   {"v = " + value + "\nassert f(v) == v and type(f(v)) is type(v) and repr(f(v)) == repr(v)"}));
  }
}

TEST_F(CodeReward, SubclassesOfPlainTypesAreTheirPlainSelves) {
  const std::string code =
      "import collections, enum\n"
      "def counter(s):\n    return collections.Counter(s)\n"
      "def groups(s):\n    d = collections.defaultdict(list)\n    d[1].append(s)\n    return d\n"
      "def ordered(s):\n    return collections.OrderedDict(a=1)\n"
      "P = collections.namedtuple('P', 'x y')\ndef point(s):\n    return P(1, 2)\n"
      "class E(enum.IntEnum):\n    A = 3\ndef member(s):\n    return E.A\n";
  expect_solved(
      judge_code(code, {"assert counter('aab') == {'a': 2, 'b': 1}", "assert groups('s') == {1: ['s']}",
                        "assert ordered(0) == {'a': 1}", "assert point(0) == (1, 2)", "assert member(0) == 3"}));
  expect(judge_code("def f(x):\n    return '\\ud800'", {"assert f(1)"}), 0, RewardStatus::kWrong,
         "0 of 1 test passed; test 1: returns a str that is not Unicode text");
}

TEST_F(CodeReward, TestsAreOrdinaryPython) {
  expect_solved(judge_code("def root(x):\n    return x ** 0.5", {"assert abs(root(2) - 1.41421356) < 1e-6",
                                                                 "import math\nassert math.isclose(root(2) ** 2, 2)"}));
  expect_solved(judge_code("def find(a, x):\n    return a.index(x) if x in a else None",
                           {"assert find([1], 2) is None", "assert find([1, 2], x=2) is not None"}));
  expect_solved(judge_code("def even(x):\n    return x % 2 == 0", {"assert not even(3)", "assert even(2) is True"}));
  expect_solved(judge_code("def f(x):\n    return [x]", {"assert tuple(f(1)) == (1,)", "assert f(f(1)) == [[1]]"}));
  expect_solved(
      judge_code("def safe(x):\n    if x < 0: raise ValueError(x)\n    return x",
                 {"try:\n    safe(-1)\n    assert False\nexcept ValueError:\n    pass", "assert safe(1) == 1"}));
}

// An exception that the code defines itself is caught as the built-in one that it comes from.
TEST_F(CodeReward, ExceptionsReachTheTest) {
  const std::string code = "class Odd(KeyError):\n    pass\ndef f(x):\n    raise Odd(x)";
  const std::string tries = "caught = ''\ntry:\n    f(1)\nexcept ";
  expect_solved(judge_code(code, {tries + "LookupError as e:\n    caught = type(e).__name__\nassert caught == 'Odd'"}));
  expect(judge_code("def f(x):\n    raise SystemExit", {tries + "Exception:\n    caught = 'x'\nassert caught == 'x'"}),
         0, RewardStatus::kWrong, "0 of 1 test passed; test 1: raises SystemExit");
}

// Python takes StopIteration for the end of a sequence, and all() of nothing is true.
TEST_F(CodeReward, AnExceptionEndsNoComparison) {
  for (const std::string error : {"StopIteration", "StopAsyncIteration", "GeneratorExit", "IndexError"}) {
    const std::string code = "def f(x):\n    raise " + error;
    for (const std::string test :
         {"assert all(map(f, [1, 2]))", "assert all(a == b for a, b in zip(map(f, [1]), [2]))",
          "assert sum(map(f, [1, 2])) == 0", "assert list(map(f, [1])) == []", "assert next(map(f, [1]), 2) == 2",
          "class Seq:\n    def __getitem__(self, i):\n        return f(i)\nassert list(Seq()) == []",
          "class Seq:\n    def __iter__(self):\n        return self\n    def __next__(self):\n        return f(1)\n"
          "assert list(Seq()) == []"})
      EXPECT_EQ(judge_code(code, {test}).value, 0) << error << "\n" << test;
  }
  EXPECT_EQ(judge_code("def f(x):\n    raise AttributeError",
                       {"class Any:\n    def __getattr__(self, name):\n        return f(name)\n"
                        "assert getattr(Any(), 'x', 2) == 2"})
                .value,
            0);
}

TEST_F(CodeReward, ACallWithoutAnAnswerFailsItsTestWhateverTheTestCatches) {
  const std::string test = "caught = False\ntry:\n    f(1)\nexcept:\n    caught = True\nassert caught";
  EXPECT_EQ(judge_code("import os\ndef f(x):\n    os._exit(0)", {test}).value, 0);
  expect_solved(judge_code("def f(x):\n    raise ValueError", {test}));
}

// What the tests of one item change in Python is gone when the next response is judged.
TEST_F(CodeReward, AVerdictDependsOnNothingButItsRequest) {
  const std::string code = "def f(x):\n    return x + 1";
  const std::vector<std::string> probe = {
      "import decimal, math, sys, builtins, os\n"
      "assert (f(1), decimal.getcontext().prec, sys.getrecursionlimit(), math.pi) == (2, 28, 1000, 3.141592653589793)\n"
      "assert builtins.abs(-f(1)) == 2 and not hasattr(builtins, 'left')\nassert os.open('/dev/null', 0) < 9 + f(0)"};
  const auto before = judge_code(code, probe);
  const auto disturb = judge_code(
      code, {"import decimal, math, sys, builtins, os\ndecimal.getcontext().prec = 3\nsys.setrecursionlimit(90)\n"
             "math.pi = 3\nbuiltins.abs = lambda x: 7\nbuiltins.left = 1\n"
             "for _ in range(40): os.open('/dev/null', 0)\nassert f(1) == 2"});
  expect_solved(disturb);
  for (int i = 0; i < 4; ++i) {  // on whichever thread
    const auto after = judge_code(code, probe);
    EXPECT_EQ(after.value, before.value) << after.reason;
  }
  expect_solved(before);
}

TEST_F(CodeReward, TheBlockThatDefinesWhatIsTestedIsJudged) {
  const std::string right = "```python\ndef f(x):\n    return x + 1\n```\n";
  const std::vector<std::string> asserts = {"# check that test() holds: data = 'check'\nassert f(1) == 2"};
  for (const std::string more : {"def check(f):\n    assert f(1) == 2", "test = 1", "data = f(1)", "def test(): pass"})
    expect_solved(
        test::judge_response(right + "```python\n" + more + "\n```\n", test::code_item({{"test_list", asserts}})));
}

std::string check(const std::string& body, const std::string& name) {
  return "\n\ndef check(candidate):\n" + body + "\n\ncheck(" + name + ")";
}

TEST_F(CodeReward, EachAssertOfCheckIsATest) {
  const std::string body =
      "    import random\n"
      "    offset = 1\n"
      "    assert candidate(1) == 1 + offset\n"
      "    assert candidate(\n        2,\n    ) == 3, 'a message'\n"
      "    for i in range(20):\n        x = random.randint(0, 9)\n        assert candidate(x) == x + offset\n"
      "    assert True, 'for the form'\n"
      "    assert candidate(-1) == 0\n";
  expect(judge_code("def f(x):\n    return x + 1", {check(body, "f")}), 1, RewardStatus::kOk, "4 of 4 tests passed");
  expect(judge_code("def f(x):\n    return abs(x) + 1", {check(body, "f")}), 0.75, RewardStatus::kWrong,
         "3 of 4 tests passed; test 4: wrong");
  const auto all = reward_with({{"constant_asserts", true}});
  expect(judge_code("def f(x):\n    return None", {check(body, "f")}, *all), 0.2, RewardStatus::kWrong,
         "1 of 5 tests passed");
}

TEST_F(CodeReward, AFailedPreparationFailsWhatComesAfterIt) {
  const std::string body = "    assert candidate(1) == 1\n    x = candidate(0)\n    assert x == 0\n";
  expect(judge_code("def f(x):\n    return x // x", {check(body, "f")}), 0.5, RewardStatus::kWrong,
         "1 of 2 tests passed; test 2: raises ZeroDivisionError");
}

TEST_F(CodeReward, NamesOfTestsAndSolutionsDoNotClash) {
  expect_solved(judge_code("def check(x):\n    return x",
                           {check("    assert check(1) == 1\n    assert candidate(2) == 2\n", "check")}));
  expect_solved(judge_code("def sum(a, b):\n    return a + b", {"assert sum(10, 15) == 25"}));
  expect_solved(judge_code("def sum(a, b):\n    return a + b", {check("    assert sum(1, 2) == 3\n", "sum")}));
  expect_solved(judge_code("def candidate(x):\n    return x", {check("    assert candidate(1) == 1\n", "candidate")}));
}

TEST_F(CodeReward, HelpersOfTheTestAreItsOwn) {
  const std::string test = "def near(a, b):\n    assert abs(a - b) < 0.1\n" +
                           check("    near(candidate(1), 1)\n    near(candidate(2), 2)\n", "f");
  expect(judge_code("def near(a, b): pass\ndef f(x):\n    return 1", {test}), 0.5, RewardStatus::kWrong,
         "1 of 2 tests passed; test 2: wrong");
}

// What Drift's code does with these texts, for comparison with figures that were measured by it.
TEST_F(CodeReward, TestsCanBeSplitByLines) {
  const auto lines = reward_with({{"split", "lines"}});
  const std::string honest = "def f(x):\n    return x + 1";
  expect(
      judge_code(honest, {check("    offset = 1\n    assert candidate(0) == offset\n    assert True\n", "f")}, *lines),
      1, RewardStatus::kOk, "2 of 2 tests passed");
  expect(judge_code(honest, {check("    assert candidate(0) == 1\n    assert candidate(\n        1) == 2\n", "f")},
                    *lines),
         0, RewardStatus::kWrong, "0 of 2 tests passed; test 1: SyntaxError in the test");
  expect(judge_code("def check(x):\n    return x",
                    {check("    assert check(1) == 1\n    assert check(2) == 2\n", "check")}, *lines),
         0, RewardStatus::kWrong, "0 of 2 tests passed; test 1: RecursionError in the test");
  expect(judge_code(honest, {"assert f(1) == 2", "assert f(1) == 3"}, *lines), 0.5, RewardStatus::kWrong,
         "1 of 2 tests passed; test 2: wrong");
}

// The code before the solution defines `encode`; a solution that redefines it does not change the test.
TEST_F(CodeReward, FunctionsOfThePrefixComeFromThePrefix) {
  const std::string prefix =
      "```python\nimport string\ndef encode(s):\n    return s[::-1]\n\ndef decode(s):\n    \"\"\" Undo encode. "
      "\"\"\"\n";
  const auto item =
      code_item({{"test_list", {check("    assert candidate(encode(string.digits)) == string.digits\n", "decode")}},
                 {"prefix", prefix}});
  expect_solved(judge_response("    return encode(s)\n```", item));
  expect_solved(
      judge_response("    return s[::-1]\n```", code_item({{"test_list", {"assert decode(encode('ab')) == 'ab'"}},
                                                           {"prefix",
                                                            "```python\ndef encode(s):\n    return s[::-1]\n"
                                                            "def decode(s):\n"}})));
  expect(judge_response("    return s\n\ndef encode(s):\n    return s\n```", item), 0, RewardStatus::kWrong,
         "0 of 1 test passed; test 1: wrong");
}

TEST_F(CodeReward, RandomTestsAreTheSameEveryTime) {
  const std::vector<std::string> tests = {"import random\nassert f(random.random()) < 0.5",
                                          "import random\nassert f(random.random()) < 0.5",
                                          "import random\nassert f(random.random()) < 0.5"};
  const RewardResult first = judge_code("def f(x):\n    return x", tests);
  for (int i = 0; i < 5; ++i) {
    judge_code("def f(x):\n    return 0", tests);
    EXPECT_EQ(judge_code("def f(x):\n    return x", tests).reason, first.reason);
  }
}

TEST_F(CodeReward, CodeIsAsGoodAsDeterministic) {
  const std::string code =
      "import random\nr = random.random()\ndef f(x):\n    return list({'a', 'b', 'c', 'd'}), hash('x'), r";
  const std::vector<std::string> tests = {"import ast\nassert f(0)[0][0] in 'ab'", "assert f(0)[1] % 2 == 0",
                                          "assert f(0)[2] < 0.5"};
  const std::string first = judge_code(code, tests).reason;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(judge_code(code, tests).reason, first);
}

TEST_F(CodeReward, TestsThatThePromptShowsCanBeLeftOut) {
  TaskItem item = code_item({{"test_list", {"assert f(1) == 1", "assert f(2) == 2", "assert f(3) == 3"}}});
  item.prompt = "Write f. Your code should pass the test:\nassert  f(1)==1\n";
  const auto hidden = reward_with({{"hidden_only", true}});
  expect(judge_response(in_block("def f(x):\n    return 1"), item, *hidden), 0, RewardStatus::kWrong,
         "1 of 3 tests passed, 0 of 2 hidden tests passed; test 2: wrong");
  expect_solved(judge_response(in_block("def f(x):\n    return x"), item, *hidden));
  item.prompt = "assert f(1) == 1 assert f(2) == 2 assert f(3) == 3";
  expect(judge_response(in_block("def f(x):\n    return max(x, 2)"), item, *hidden), 2. / 3, RewardStatus::kWrong,
         "2 of 3 tests passed; test 1: wrong");
}

TEST_F(CodeReward, TheTimeLimitIsOfProcessorTime) {
  const std::string code =
      "import time\ndef f(x):\n    start = time.process_time()\n    while time.process_time() - start < x: pass\n    "
      "return x";
  const nlohmann::json reference = {
      {"test_list", {"assert f(0.05) == 0.05", "assert f(0.6) == 0.6", "assert f(0.1) == 0.1"}},
      {"test_time_limit", 0.3}};
  expect(judge_response(in_block(code), code_item(reference)), 2. / 3, RewardStatus::kTimeout,
         "2 of 3 tests passed; test 2: timeout");
  expect_solved(judge_response(in_block(code), code_item(reference), *reward_with({{"time_limit", 2.0}})));
}

// Many threads ask concurrently: they queue, and each gets the same verdict as alone.
TEST_F(CodeReward, ThreadsMayScoreTogether) {
  std::vector<std::string> reasons(12);
  const auto judge_one = [&](std::size_t i) {
    const std::string code = "def f(x):\n    return x if x < " + std::to_string(i % 3) + " else -1";
    reasons[i] = judge_code(code, {"assert f(0) == 0", "assert f(1) == 1"}).reason;
  };
  drift::for_each_at_once(reasons.size(), judge_one, reasons.size());
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const std::string passed = std::to_string(i % 3);
    EXPECT_THAT(reasons[i], StartsWith(passed + " of 2 tests passed"));
  }
}

TEST_F(CodeReward, AnItemThatCannotBeJudgedIsAnError) {
  const auto refused = [](const nlohmann::json& reference, const std::string& message) {
    const auto judge = [&] { judge_response(in_block("def f(x):\n    return x"), code_item(reference)); };
    EXPECT_THAT(test::error_of(judge), HasSubstr(message));
  };
  refused("assert f(1) == 1", "cannot read the reference of item sample: it is not a JSON object");
  refused({{"answer", 1}}, "it has no tests");
  refused({{"test_list", "assert f(1) == 1"}}, "has a `test_list` that is not a list of texts");
  refused({{"test_list", {"assert f(1 == 1"}}}, "cannot read the tests of item sample: '(' was never closed");
  refused({{"test_list", {"assert True"}}}, "item sample has no test that calls anything");
  refused({{"test_list", {"assert f(1) == 1"}}, {"test_time_limit", 0}}, "`test_time_limit` that is not in (0, 600]");
  refused({{"test_list", {"assert f(1) == 1"}}, {"test_method", "stdio"}}, "has the `test_method` \"stdio\"");
  refused({{"test", "def check(c): pass"}}, "a `test` without an `entry_point`");
  refused({{"test_input", {"1"}}, {"test_output", {"1", "2"}}}, "has 1 inputs and 2 outputs");
}

TEST(CodeRewardWithoutSandbox, RefusesToRunByDefault) {
  const std::string error = test::error_of([] {
    test::create<Reward>("code", "code", {{"python", "/nonexistent/python3"}});
  });
  EXPECT_THAT(error, HasSubstr("does not run model-written programs without a sandbox"));
  EXPECT_THAT(error, HasSubstr("unsafe = true"));
}

TEST(CodeRewardWithoutSandbox, UnsafeRunsTheSameProtocol) {
  const auto unsafe = reward_with({{"unsafe", true}, {"workers", 1}});
  expect_solved(judge_code("def f(x):\n    return x + 1", {"assert f(1) == 2"}, *unsafe));
  expect(judge_code("import sys\nsys.exit()", {"assert f(1) == 2"}, *unsafe), 0, RewardStatus::kCrashed,
         "SystemExit while loading");
}

}  // namespace
}  // namespace drift::code_reward_test
