// Honest programs of every kind, with tests as a data set might hold them: each must pass. Most are in code_honest.txt.

#include <drift/error.h>

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "tests/support/code.h"
#include "tests/support/code_cases.h"
#include "tests/support/support.h"

namespace drift::code_honest_test {
namespace {

using test::CodeCase;
using test::judge_code;

using CodeHonest = test::NeedsSandbox<testing::TestWithParam<CodeCase>>;

TEST_P(CodeHonest, Passes) {
  const RewardResult result = judge_code(GetParam().code, GetParam().tests);
  EXPECT_DOUBLE_EQ(result.value, 1) << result.reason;
}

INSTANTIATE_TEST_SUITE_P(Programs, CodeHonest, testing::ValuesIn(test::read_code_cases("code_honest.txt")),
                         [](const auto& info) { return info.param.name; });

// What only defines a test is none; what runs it is.
TEST_F(CodeHonest, TestsThatAreRun) {
  for (const char* test : {"import asyncio\nasync def check():\n    assert f(1) == 2\nasyncio.run(check())",
                           "class T:\n    def check(self):\n        assert f(1) == 2\nT().check()"}) {
    EXPECT_EQ(judge_code("def f(x): return x + 1", {test}).value, 1) << test;
    EXPECT_EQ(judge_code("def f(x): return x", {test}).value, 0) << test;
  }
}

// Each method of a TestCase is a test.
TEST_F(CodeHonest, APartOfATestCaseCounts) {
  const RewardResult result =
      judge_code("def f(x): return 1",
                 {"import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 1)\n"
                  "    def test_b(self): self.assertEqual(f(2), 2)\nunittest.main()"});
  EXPECT_DOUBLE_EQ(result.value, 0.5) << result.reason;
}

// After a crash the test goes on with a new process, in which the solution's classes are the same, and its objects
// gone.
TEST_F(CodeHonest, ObjectsEndWithTheirProcess) {
  const std::string code = "import os\nclass A:\n    def stop(self): os._exit(0)\n    def name(self): return 'a'\n";
  const RewardResult result = judge_code(
      code,
      {"a = A()\nassert a.stop() is None\nassert a.name() == 'a'\nassert A().name() == 'a' and isinstance(A(), A)"});
  EXPECT_DOUBLE_EQ(result.value, 1. / 3) << result.reason;
}

const std::string kPool =
    "import threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
    "def f(g, n):\n    with ThreadPoolExecutor(16) as pool: return list(pool.map(g, range(n)))\n"
    "def total(values):\n    found, lock = [0], threading.Lock()\n    def add(x):\n        with lock: found[0] += x\n"
    "    threads = [threading.Thread(target=add, args=(x,)) for x in values]\n    for t in threads: t.start()\n"
    "    for t in threads: t.join()\n    return found[0]\n";

TEST_F(CodeHonest, Threads) {
  const auto threads = test::create<Reward>("code", "code", {{"threads", true}, {"workers", 1}});
  const std::vector<std::string> tests = {"assert f(lambda x: x * x, 40) == [x * x for x in range(40)]",
                                          "assert total(range(40)) == 780"};
  const RewardResult result = judge_code(kPool, tests, *threads);
  EXPECT_DOUBLE_EQ(result.value, 1) << result.reason;
  EXPECT_EQ(judge_code(kPool, tests).value, 0);
}

/// An interpreter whose site packages hold what `files` says, in a folder that ends with the object.
class Interpreter {
 public:
  explicit Interpreter(const std::map<std::string, std::string>& files) {
    test::run_command("/usr/bin/python3 -m venv --without-pip --symlinks " + folder_.path().string());
    for (const auto& [name, text] : files) {
      std::filesystem::create_directories((packages() / name).parent_path());
      test::write_file(packages() / name, text);
    }
  }
  std::string path() const { return folder_.path() / "bin/python3"; }

 private:
  std::filesystem::path packages() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "lib"))
      return entry.path() / "site-packages";
    return folder_.path();
  }
  test::TemporaryFolder folder_;
};

TEST_F(CodeHonest, Packages) {
  const Interpreter python({{"shapes/__init__.py", "from .areas import square\n"},
                            {"shapes/areas.py", "def square(x): return x * x\n"},
                            {"other/__init__.py", ""}});
  if (!std::filesystem::exists(python.path())) GTEST_SKIP() << "Python has no venv here";
  const test::ParamValues values = {{"python", python.path()}, {"workers", 1}};
  const auto with = [&](const std::string& package) {
    auto more = values;
    more["packages"] = std::vector<std::string>{package};
    return test::create<Reward>("code", "code", more);
  };
  const std::string code = "from shapes import square\ndef f(x): return square(x)\n";
  const std::vector<std::string> tests = {"import shapes\nassert f(3) == shapes.square(3)"};
  EXPECT_EQ(judge_code(code, tests, *with("shapes")).value, 1);
  EXPECT_EQ(judge_code(code, tests, *test::create<Reward>("code", "code", values)).value, 0);
  EXPECT_EQ(judge_code("import other\n" + code, tests, *with("shapes")).value, 0) << "another package is not shown";
  EXPECT_EQ(judge_code("import shapes\nopen(shapes.__file__, 'a')\n" + code, tests, *with("shapes")).value, 0);
  const std::string error = test::error_of([&] { with("numpy"); });
  EXPECT_THAT(error, testing::HasSubstr("has no package `numpy`"));
  EXPECT_THAT(error, testing::HasSubstr("python3-numpy"));
}

}  // namespace
}  // namespace drift::code_honest_test
