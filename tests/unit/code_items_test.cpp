// The forms in which data sets hold their tests, and the benchmarks themselves where they are there.

#include <drift/error.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "extraction.h"
#include "item.h"
#include "judge.h"
#include "tests/support/code.h"
#include "tests/support/support.h"

namespace drift::code_items_test {
namespace {

using test::code_item;
using test::in_block;
using test::judge_response;

using CodeItems = test::NeedsSandbox<>;

void expect(const RewardResult& result, double value, const std::string& reason) {
  EXPECT_DOUBLE_EQ(result.value, value) << result.reason;
  EXPECT_THAT(result.reason, testing::StartsWith(reason));
}

TEST_F(CodeItems, AFunctionToContinue) {
  const auto item = code_item(
      {{"question", "You need to complete this code: …"},
       {"prefix",
        "Here is the completed code:\n```python\nimport math\ndef area(r):\n    \"\"\" Of a circle. \"\"\"\n\n"},
       {"test_list",
        {"\n\ndef check(candidate):\n    assert area(0) == 0\n    assert abs(area(2) - 4 * math.pi) < 1e-9\n"
         "\ncheck(area)"}},
       {"test_time_limit", 1},
       {"test_method", "function"}});
  // `math` is the prefix's import, for the solution and for the tests.
  expect(judge_response("    return math.pi * r * r\n```", item), 1, "2 of 2 tests passed (continues the prefix)");
  expect(judge_response("    return 3 * r * r\n", item), 0.5,
         "1 of 2 tests passed; test 2: wrong (continues the prefix, not closed)");
  expect(judge_response("```python\nfrom math import *\ndef area(r):\n    return pi * r**2\n```", item), 1,
         "2 of 2 tests passed (its own block)");
}

// A block of its own repeats the function, and may leave out what stands before it in the prompt.
TEST_F(CodeItems, ThePromptsImportsAndFunctionsStandBeforeTheBlock) {
  const std::string prompt =
      "from math import *\nimport no_such_module\nSCALE = 2\n\ndef twice(x):\n    return SCALE * x\n\n"
      "def f(x):\n    \"\"\" Twice the root. \"\"\"\n";
  const std::string test = "def check(candidate):\n    assert candidate(4) == 4\n    assert candidate(9) == 6\n";
  const nlohmann::json record = {{"prompt", prompt}, {"test", test}, {"entry_point", "f"}};
  const std::string block = in_block("def f(x):\n    return twice(sqrt(x))");
  const std::string future = in_block("from __future__ import annotations\ndef f(x: y):\n    return twice(sqrt(x))");
  for (const char* prefix : {"", "```python\n", "Here is the code:\n"}) {
    expect(judge_response(block, code_item(record, prefix)), 1, "2 of 2 tests passed");
    expect(judge_response(future, code_item(record, prefix)), 1, "2 of 2 tests passed");
  }
  expect(judge_response("def f(x):\n    return twice(sqrt(x))\n```", code_item(record, "```python\n")), 1,
         "2 of 2 tests passed (continues the prefix)");
  expect(judge_response(block, code_item({{"prefix", "```python\n" + prompt}, {"test_list", {"assert f(4) == 4"}}})), 1,
         "1 of 1 test passed (its own block)");
  // The unfinished function is not given.
  expect(judge_response(in_block("def g(x):\n    return f(x)\ndef f(x):\n    return g(x) if x < 0 else twice(sqrt(x))"),
                        code_item(record)),
         1, "2 of 2 tests passed");
  // Of a program's prefix only imports and definitions: anything else could read its input.
  const std::string program = "```python\nimport sys\nn = int(input())\ndef g(x): return x\ndef h(x):\n";
  expect(judge_response(in_block("print(g(int(sys.stdin.read())) + 1)"),
                        code_item({{"test_input", {"1\n"}}, {"test_output", {"2"}}, {"prefix", program}})),
         1, "1 of 1 test passed (its own block)");
}

// How the data are checked: an empty response is no answer, and its item's tests are run.
TEST_F(CodeItems, AnEmptyResponseShowsTestsThatCannotBeRead) {
  const auto status = [](const nlohmann::json& record) { return judge_response(" \n", code_item(record)).status; };
  EXPECT_EQ(status({{"test_list", {"assert f(1) == 2"}}, {"prefix", "```python\ndef f(x):\n"}}),
            RewardStatus::kNoAnswer);
  EXPECT_EQ(status({{"test_input", {"1"}}, {"test_output", {"2"}}}), RewardStatus::kNoAnswer);
  EXPECT_THROW(status({{"prompt", "def f(x):\n"}, {"test", "assert f(1) =="}, {"entry_point", "f"}}), Error);
  EXPECT_THROW(status({{"test_list", {"assert True"}}}), Error);
}

TEST_F(CodeItems, WhatTheTaskPutsBeforeTheResponseIsThePrefix) {
  const auto item =
      code_item({{"prefix", "```python\ndef f(x):\n    return 1 +\\\n"}, {"test_list", {"assert f(1) == 2"}}},
                "```python\ndef f(x):\n");
  expect(judge_response("    return x + 1\n```", item), 1, "1 of 1 test passed (continues the prefix)");
}

// The prefix opens a helper; the tests call a function that the response writes after it.
TEST_F(CodeItems, AHelperToContinue) {
  const auto item = code_item(
      {{"prefix", "```python\ndef is_even (x): \n    \"\"\" Count even numbers. \"\"\"\n\n"},
       {"test_list", {"\n\ndef check(candidate):\n    assert count_even([1, 2, 4]) == 2\n\ncheck(is_even)"}}});
  expect(judge_response("    return x % 2 == 0\ndef count_even(a):\n    return sum(map(is_even, a))\n```", item), 1,
         "1 of 1");
  expect(judge_response("```python\ndef count_even(a):\n    return sum(x % 2 == 0 for x in a)\n```", item), 1,
         "1 of 1 test passed (its own block)");
}

TEST_F(CodeItems, AListOfAssertsWithASetup) {
  const auto item = code_item({{"task_id", 1},
                               {"text", "Write a function to …"},
                               {"test_list", {"assert f(base) == 6", "assert math.floor(f(2)) == 3"}},
                               {"test_imports", {"import math"}},
                               {"test_setup_code", "base = 5"},
                               {"challenge_test_list", {"assert f(-1) == 0"}}});
  expect(judge_response(in_block("def f(x):\n    return x + 1"), item), 1, "3 of 3 tests passed");
  expect(judge_response(in_block("def f(x):\n    return abs(x) + 1"), item), 2. / 3,
         "2 of 3 tests passed; test 3: wrong");
}

TEST_F(CodeItems, APromptATestAndAnEntryPoint) {
  const auto item = code_item(
      {{"task_id", "Some/0"},
       {"prompt",
        "from typing import List\n\ndef first(a: List[int]) -> int:\n    \"\"\" The first one.\n    \"\"\"\n"},
       {"canonical_solution", "    return a[0]\n"},
       {"test",
        "\n\nMETADATA = {'author': 'x'}\n\n\ndef check(candidate):\n    assert candidate([1, 2]) == 1\n"
        "    assert candidate([3]) == 3\n"},
       {"entry_point", "first"}});
  expect(judge_response("    return a[0]\n", item), 1, "2 of 2 tests passed (continues the prefix, not closed)");
  expect(judge_response("Sure:\n```python\ndef first(a):\n    return a[0]\n```\n", item), 1,
         "2 of 2 tests passed (its own block)");
  expect(judge_response("    return 1\n", item), 0.5, "1 of 2 tests passed");
}

// What the tests give a meaning to, or only mention, is not the solution's.
TEST_F(CodeItems, ABlockAfterTheSolution) {
  const std::string solution = in_block("def f(x):\n    return x + 1");
  for (const char* test :
       {"# helper\nassert f(1) == 2, 'helper'", "helper = 1\nassert f(helper) == 2",
        "assert (helper := f(1)) == 2 and helper == 2",
        "def t():\n    global helper\n    helper = 1\nt()\nassert f(helper) == 2",
        "from math import *\nhelper = floor(1.5)\nassert f(helper) == 2",
        "match f(1):\n    case helper: pass\nassert helper == 2", "assert [f(helper) for helper in [1]] == [2]",
        "class T:\n    helper = 1\nassert f(T.helper) == 2"}) {
    const auto item = code_item({{"test_list", {test}}});
    expect(judge_response(solution + in_block("def helper(): pass\nfloor = helper"), item), 1, "1 of 1");
  }
  const auto item = code_item({{"test_list", {"assert f(base) == floor(2.5)"}},
                               {"test_imports", {"from math import *"}},
                               {"test_setup_code", "try:\n    import missing\nexcept ImportError:\n    base = 1"}});
  expect(judge_response(solution + in_block("base = 9\ndef floor(x): pass"), item), 1, "1 of 1");
}

TEST_F(CodeItems, AnEntryPointBesideAListOfTests) {
  const auto item = code_item({{"test_list", {"assert f(1) == 2 or helper"}}, {"entry_point", "f"}});
  expect(judge_response(in_block("def f(x):\n    return x + 1") + in_block("def helper(): pass"), item), 1, "1 of 1");
  const auto sum = code_item({{"test_list", {"assert list(sum(3, 4)) == [12]"}}, {"entry_point", "sum"}});
  expect(judge_response(in_block("def sum(a, b):\n    return [a * b]"), sum), 1, "1 of 1");
  const auto method =
      code_item({{"test", "def check(candidate):\n    assert candidate(1) == 2\n"}, {"entry_point", "Solution().add"}});
  expect(judge_response(
             in_block("class Solution:\n    def add(self, x): return x + 1") + in_block("print(Solution().add(1))"),
             method),
         1, "1 of 1");
}

using Texts = std::vector<code::TestText>;

// The test texts of a benchmark, one an item.
Texts texts_of(const std::string& name) {
  std::ifstream file(test::data_file(name + ".json"));
  Texts texts;
  for (const auto& record : nlohmann::json::parse(file)) {
    const TaskItem task_item = code_item(record);
    const code::Item item = code::read_item(&task_item);
    EXPECT_EQ(item.tests.size(), 1U);
    texts.push_back({"place", code::code_of_prefix(item.prefix, code::Fences::kLenient).code, item.setup,
                     item.tests.at(0), item.entry_point});
    EXPECT_NE(texts.back().prefix, "");
  }
  return texts;
}

// A judge, and code that defines nothing: each call raises a NameError.
class CodeBenchmarks : public CodeItems {
 protected:
  void SetUp() override {
    CodeItems::SetUp();
    if (IsSkipped()) return;
    const auto missing = test::missing_data({"MBPP.json", "MBPP_train.json", "HumanEval.json"});
    if (!missing.empty()) GTEST_SKIP() << missing;
    sandbox_.emplace(code::SandboxOptions{});
  }

  std::vector<code::Verdict> run(const code::TestText& text, const code::JudgeOptions& options) {
    if (!worker_) {
      worker_.emplace(*sandbox_, "pass", code::SandboxLimits{}, 1);
      EXPECT_TRUE(worker_->load());
    }
    auto& judge = judges_[{options.constant_asserts, options.by_lines}];
    if (!judge) judge = std::make_unique<code::Judge>(*sandbox_, code::SandboxLimits{}, options);
    return judge->run(text, *worker_);
  }

  std::optional<code::Sandbox> sandbox_;
  std::optional<code::Worker> worker_;
  std::map<std::pair<bool, bool>, std::unique_ptr<code::Judge>> judges_;
};

// Every text falls into as many tests as it holds asserts; only constants pass.
TEST_F(CodeBenchmarks, FallIntoTheirAsserts) {
  struct Benchmark {
    const char* name;
    std::size_t items, tests, constants;
  };
  for (const Benchmark& benchmark : {Benchmark{"MBPP", 498, 1510, 0}, Benchmark{"MBPP_train", 472, 1416, 0},
                                     Benchmark{"HumanEval", 164, 1181, 48}}) {
    const Texts texts = texts_of(benchmark.name);
    EXPECT_EQ(texts.size(), benchmark.items);
    std::size_t tests = 0, counted = 0, passed = 0;
    for (const auto& text : texts) {
      for (const auto& verdict : run(text, {.constant_asserts = true})) {
        ++tests;
        passed += verdict.status == RewardStatus::kOk ? 1 : 0;
        EXPECT_THAT(verdict.reason, testing::AnyOf("", "raises NameError")) << verdict.text;
      }
      counted += run(text, {}).size();
    }
    EXPECT_EQ(tests, benchmark.tests) << benchmark.name;
    EXPECT_EQ(counted, benchmark.tests - benchmark.constants) << benchmark.name;
    EXPECT_EQ(passed, benchmark.constants) << benchmark.name;
  }
}

// The items that no solution can solve where tests are split by lines: 4, 2 and 2 (D9 in docs/spec/rewards_data_eval.md
// 6).
TEST_F(CodeBenchmarks, SplitByLinesSomeAreBroken) {
  const auto broken = [&](const std::string& name) {
    std::vector<std::size_t> items;
    const Texts texts = texts_of(name);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto verdicts = run(texts[i], {.by_lines = true});
      const auto holds = [](const auto& verdict) {
        return verdict.reason.empty() || verdict.reason == "raises NameError";
      };
      if (!std::all_of(verdicts.begin(), verdicts.end(), holds)) items.push_back(i);
    }
    return items;
  };
  EXPECT_THAT(broken("HumanEval"), testing::ElementsAre(1, 44, 87, 113));
  EXPECT_THAT(broken("MBPP"), testing::ElementsAre(45, 337));
  EXPECT_THAT(broken("MBPP_train"), testing::ElementsAre(397, 464));
}

}  // namespace
}  // namespace drift::code_items_test
