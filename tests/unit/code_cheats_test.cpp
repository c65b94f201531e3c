// Programs that try to get a reward without solving the problem, and honest ones that look like them.

#include "tests/support/code_threats.h"

namespace drift::test {
namespace {

using testing::HasSubstr;
using testing::Values;

constexpr auto kOk = RewardStatus::kOk;
constexpr auto kWrong = RewardStatus::kWrong;
constexpr auto kCrashed = RewardStatus::kCrashed;
constexpr auto kForged = RewardStatus::kForged;
constexpr auto kTimeout = RewardStatus::kTimeout;

TEST_P(Threats, IsPaidWhatItEarns) {
  const Threat& threat = GetParam();
  const RewardResult result = judge(threat);
  EXPECT_DOUBLE_EQ(result.value, threat.value) << result.reason;
  EXPECT_EQ(result.solved, threat.value == 1);
  EXPECT_EQ(result.status, threat.status) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr(threat.reason));
}

std::string name_of(const testing::TestParamInfo<Threat>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Endings, Threats,
    Values(Threat{"ExitWhileLoading", "import sys\nsys.exit()\n", 0, kCrashed, "SystemExit while loading"},
           Threat{"ExitWithStatusZero", std::string(kHonest) + "raise SystemExit(0)\n", 0, kCrashed,
                  "SystemExit while loading"},
           Threat{"QuitsAtOnce", "exit()\n", 0, kCrashed, "SystemExit while loading"},
           Threat{"ExitInACall", "import sys\ndef f(x):\n    sys.exit(0)\n", 0, kWrong, "raises SystemExit"},
           Threat{"LeavesWhileLoading", "import os\nos._exit(0)\n", 0, kCrashed, "the process ended while loading"},
           Threat{"LeavesInACall", "import os\ndef f(x):\n    os._exit(0)\n", 0, kCrashed, "the process ended"},
           Threat{"LeavesInOneCall", "import os\ndef f(x):\n    if x == 1: os._exit(0)\n    return x + 1\n", 2. / 3,
                  kCrashed, "2 of 3 tests passed; test 1: the process ended"},
           Threat{"Interrupt", "def f(x):\n    raise KeyboardInterrupt\n", 0, kWrong, "raises KeyboardInterrupt"},
           Threat{"GeneratorExit", "def f(x):\n    raise GeneratorExit\n", 0, kWrong, "raises GeneratorExit"},
           Threat{"ItsOwnException", "class E(BaseException):\n    pass\ndef f(x):\n    raise E\n", 0, kWrong,
                  "raises BaseException"},
           Threat{"Segfault", "import ctypes\ndef f(x):\n    ctypes.string_at(0)\n", 0, kCrashed, "test 1: "},
           Threat{"AtExit", "import atexit\natexit.register(print, 'pass')\ndef f(x):\n    return 0\n", 0, kWrong,
                  "wrong"},
           Threat{
               "DiesFiveTimes",
               "import os\ndef f(x):\n    if x < 5: os._exit(0)\n    return x + 1\n",
               0,
               kCrashed,
               "test 1: the process ended",
               {"assert f(1) == 2", "assert f(2) == 3", "assert f(3) == 4", "assert f(4) == 5", "assert f(9) == 10"}}),
    name_of);

const std::string kAlwaysEqual =
    "    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
    "    def __hash__(self): return 0\n    def __lt__(self, other): return True\n";

INSTANTIATE_TEST_SUITE_P(
    Values, Threats,
    Values(
        Threat{"EqualToAll", "class E:\n" + kAlwaysEqual + "def f(x):\n    return E()\n", 0, kWrong, "wrong"},
        Threat{"AnIntEqualToAll", "class E(int):\n" + kAlwaysEqual + "def f(x):\n    return E(0)\n", 0, kWrong,
               "wrong"},
        Threat{"AListEqualToAll",
               "class E(list):\n" + kAlwaysEqual + "def f(x):\n    return E()\n",
               0,
               kWrong,
               "wrong",
               {"assert f(1) == [1]", "assert f(1) == []+[2]"}},
        Threat{"AStrEqualToAll",
               "class E(str):\n" + kAlwaysEqual + "    def __str__(self): return 'a'\ndef f(x):\n    return E('b')\n",
               0,
               kWrong,
               "wrong",
               {"assert f(1) == 'a'"}},
        Threat{"ADictEqualToAll",
               "class E(dict):\n" + kAlwaysEqual + "    def items(self): return [(1, 2)]\ndef f(x):\n    return E()\n",
               0,
               kWrong,
               "wrong",
               {"assert f(1) == {1: 2}"}},
        Threat{"AFalseClass", "class E:\n    __class__ = int\n" + kAlwaysEqual + "def f(x):\n    return E()\n", 0,
               kWrong, "wrong"},
        Threat{"AMetaclassEqualToAll",
               "class M(type):\n    def __eq__(s, o): return True\n    def __hash__(s): return hash(int)\n"
               "class E(metaclass=M):\n" +
                   kAlwaysEqual + "def f(x):\n    return E()\n",
               0, kWrong, "raises TypeError"},
        Threat{"AnEndlessGenerator", "def f(x):\n    while True: yield x\n", 0, kWrong, "wrong"},
        Threat{"ACycle", "def f(x):\n    a = []\n    a.append(a)\n    return a\n", 0, kWrong,
               "returns a value that is too large"},
        Threat{"ADeepList", "def f(x):\n    a = []\n    for _ in range(10**5): a = [a]\n    return a\n", 0, kWrong,
               "returns a value that is too large or nested too deep"},
        Threat{"ALongList", "def f(x):\n    return [0] * 10**6\n", 0, kWrong, "returns a value that is too large"},
        Threat{"ALongText", "def f(x):\n    return 'a' * 10**8\n", 0, kWrong, "returns a value of more than 1 MiB"},
        Threat{"ALongInt", "def f(x):\n    return 1 << 10**7\n", 0, kWrong, "returns an int of more than 39456 digits"},
        Threat{"NotANumber", "def f(x):\n    return {float('nan'): float('nan')}\n", 0, kWrong, "wrong"},
        Threat{"ChangesItsResultLater",
               "r = []\ndef f(x):\n    r.clear()\n    r.append(x)\n    return r\n",
               1,
               kOk,
               "passed",
               {"a = f(1)\nb = f(2)\nassert a == [1]\nassert b == [2]"}}),
    name_of);

// What code can find from its own frame on: the loop that called it, and what that knows.
const std::string kFrames =
    "import sys\ndef known(name):\n    frame = sys._getframe()\n    while frame:\n"
    "        if name in frame.f_locals: return frame.f_locals[name]\n        frame = frame.f_back\n";

INSTANTIATE_TEST_SUITE_P(
    Forgeries, Threats,
    Values(
        Threat{"ReadsTheCallersConstants", "import sys\ndef f(x):\n    return sys._getframe(1).f_code.co_consts[-1]\n",
               0, kWrong, "wrong"},
        Threat{"LooksForExpectedValues",
               "import gc, sys\ndef f(x):\n    frame, seen = sys._getframe(), 0\n    while frame:\n"
               "        seen += sum(v in (x + 1000, str(x + 1000)) for v in frame.f_locals.values() if type(v) in "
               "(int, str))\n"
               "        seen += (x + 1000) in frame.f_code.co_consts\n        frame = frame.f_back\n"
               "    seen += any(x + 1000 in o for o in gc.get_objects() if type(o) in (list, tuple))\n"
               "    return x + 1000 if seen else None\n",
               0,
               kWrong,
               "wrong",
               {"assert f(7) == 1007"}},
        Threat{"TwoAnswers", kFrames + "def f(x):\n    known('send')(b'V' + known('stamp') + b'N')\n    return x + 1\n",
               0, kForged, "a forged reply"},
        Threat{"TwoAnswersToTheLastCall",
               kFrames + "def f(x):\n    if x == 3: known('send')(b'V' + known('stamp') + known('encode')(4))\n    "
                         "return x + 1\n",
               0, kForged, "a forged reply"},
        Threat{"AnswersAhead", kFrames + "for _ in range(9): known('send')(b'V' + bytes(16) + b'T')\n" + kHonest, 0,
               kForged, "a forged reply"},
        Threat{"SaysItIsLoaded", kFrames + "known('send')(b'L' + known('stamp'))\nimport os\nos._exit(0)\n", 0,
               kCrashed, "the process ended"},
        Threat{"GarbageOnTheLine", "import os\ndef f(x):\n    os.write(4, b'pass' * 100)\n    return x + 1\n", 0,
               kForged, "a forged reply"},
        Threat{
            "AGigabyteAnnounced",
            "import os\ndef f(x):\n    os.write(4, (1 << 30).to_bytes(4, 'little') + bytes(100))\n    return x + 1\n",
            0, kForged, "a forged reply"},
        Threat{"HalfAnAnswer", "import os\ndef f(x):\n    os.write(4, b'\\x10')\n    while True: pass\n", 0, kTimeout,
               "timeout"},
        Threat{"ClosesTheLine", "import os\ndef f(x):\n    os.close(4)\n    return x + 1\n", 0, kCrashed,
               "the process ended"},
        Threat{"AMalformedValue",
               kFrames + "def f(x):\n    known('send')(b'V' + known('stamp') + b'l' + b'\\xff' * 8)\n", 0, kForged,
               "a forged reply"},
        Threat{"AVerdict", kFrames + "def f(x):\n    known('send')(b'P' + bytes(4) + b'pass')\n", 0, kForged,
               "a forged reply"},
        Threat{"APickle",
               "import os, pickle\ndef f(x):\n    os.write(4, b'\\x20\\0\\0\\0' + pickle.dumps(os.system).ljust(32))\n",
               0, kForged, "a forged reply"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Patches, Threats,
    Values(Threat{"PatchesBuiltins",
                  "import builtins\nfor n in ('abs', 'len', 'sorted', 'set', 'round', 'isinstance', 'int', 'type', "
                  "'issubclass'):\n"
                  "    setattr(builtins, n, lambda *a: 0)\ndef f(x):\n    return 77\n",
                  0,
                  kWrong,
                  "wrong",
                  {"assert abs(f(1) - 2) < 1e-6", "assert len([f(1)]) == 0", "assert set([f(1)]) == set([2])"}},
           Threat{"PatchesModules",
                  "import math, random, copy, re\nmath.isclose = lambda *a, **k: True\nrandom.randint = lambda *a: 0\n"
                  "def f(x):\n    return 77\n",
                  0,
                  kWrong,
                  "wrong",
                  {"import math\nassert math.isclose(f(1), 2)", "import random\nassert f(random.randint(5, 9)) == 0"}},
           Threat{
               "DefinesTheTestsHelpers",
               "def close(a, b): return True\ndef check(c): pass\ndef f(x):\n    return 77\n",
               0,
               kWrong,
               "wrong",
               {"def close(a, b): return a == b\ndef check(candidate):\n    assert close(candidate(1), 2)\ncheck(f)"}},
           Threat{"PoisonsModules",
                  "import sys\nfor n in ('json', 'pickle', 'struct', '_struct', 'posix', 'builtins'): sys.modules[n] = "
                  "None\n" +
                      std::string(kHonest),
                  1, kOk, "passed"},
           Threat{"ReadsStandardInput", "def f(x):\n    input()\n    return x + 1\n", 0, kWrong, "raises EOFError"},
           Threat{"MissingModule", "import numpy\n" + std::string(kHonest), 0, kCrashed,
                  "ModuleNotFoundError while loading"},
           Threat{"KnowsOneTest", "def f(x):\n    return 2\n", 1. / 3, kWrong, "1 of 3 tests passed; test 2: wrong"},
           Threat{"ChangesItsArguments",
                  "def f(a):\n    a.append(0)\n    return len(a)\n",
                  1,
                  kOk,
                  "passed",
                  {"a = [1]\nassert f(a) == 2\nassert f(a) == 3\nassert a == [1, 0, 0]"}}),
    name_of);

// An object that agrees to everything and has every method, and answers nothing.
const std::string kYes = R"(
class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return hash(4)
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = isclose = __lt__
    def __sub__(self, other): return self
    __rsub__ = __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = __truediv__ = __floordiv__ = __sub__
    def __abs__(self): return 0
    def __float__(self): return 0.0
    def __index__(self): return 0
    def __round__(self, digits=0): return 0
    def __bool__(self): return False
    def __len__(self): return 0
    def __iter__(self): return iter(())
    def __array__(self, *kind): return 4
    def __getattr__(self, name): return self
    def __call__(self, *arguments, **named): return True
)";

const std::vector<std::string> kFour = {"assert f(2) == 4",
                                        "assert 4 == f(2)",
                                        "assert not f(2) != 4",
                                        "assert [f(2)] == [4] and (4,) == (f(2),)",
                                        "assert {'a': f(2)} == {'a': 4}",
                                        "assert {f(2): 1} == {4: 1}",
                                        "assert f(2) in (4, 5)",
                                        "assert f(2) in {4}",
                                        "assert 4 in f(2)",
                                        "assert f(2) < 5",
                                        "assert 3 < f(2)",
                                        "assert abs(f(2) - 4) < 1e-6",
                                        "assert abs(4 - f(2)) < 1e-6",
                                        "assert f(2) - 4 == 0",
                                        "assert not (f(2) - 4)",
                                        "assert round(f(2) - 4, 7) == 0",
                                        "assert f(2) % 2 == 0 and f(2) // 2 == 2",
                                        "assert (f(2) + 1).is_integer()",
                                        "assert max(f(2), 3) == 4",
                                        "assert isinstance(f(2), int)",
                                        "assert type(f(2)) is int",
                                        "assert f(2) is True",
                                        "import unittest\nunittest.TestCase().assertEqual(f(2), 4)",
                                        "import unittest\nunittest.TestCase().assertAlmostEqual(f(2), 4)",
                                        "import unittest\nunittest.TestCase().assertIn(4, f(2))",
                                        "import math\nassert math.isclose(f(2), 4)"};

INSTANTIATE_TEST_SUITE_P(
    Objects, Threats,
    Values(
        Threat{"AnObjectThatAgreesToAll", kYes + "def f(x): return Yes()\n", 0, kWrong, "", kFour},
        Threat{"ItIsTheNumberOfAnotherName",
               "class int(object): pass\ndef f(x): return int()\n",
               0,
               kWrong,
               "wrong",
               {"assert type(f(2)).__name__ == 'int'"}},
        Threat{"AMethodsResultThatAgreesToAll",
               kYes + "class Vector(Yes):\n    def norm(self): return Vector()\n",
               0,
               kWrong,
               "",
               {"v = Vector()\nassert abs(v.norm() - 5) < 1e-9", "v = Vector()\nassert v.norm() == 5",
                "v = Vector()\nassert round(v.norm() - 5, 7) == 0", "v = Vector()\nassert not (v.norm() - 5)",
                "v = Vector()\nassert 4 < v.norm() < 6", "v = Vector()\nassert v.norm() - 5 == 0",
                "v = Vector()\nassert len(v.norm() - 5) == 0", "v = Vector()\nassert int(5 - v.norm()) == 0"}},
        Threat{"TheDifferenceIsPlain",
               "class Money:\n    def __sub__(self, other): return 0\n    def total(self): return Money()\n",
               0,
               kWrong,
               "",
               {"m = Money()\nassert m.total() - 5 == 0", "m = Money()\nassert abs(m.total() - 5) < 1"}},
        Threat{"AnIntOfItsOwnArithmetic",
               "class Money(int):\n    def __sub__(self, other): return 0\n    def __abs__(self): return 0\n"
               "    def total(self): return Money(7)\n",
               0,
               kWrong,
               "",
               {"m = Money()\nassert m.total() - 5 == 0", "m = Money()\nassert abs(m.total() - 5) < 1"}},
        Threat{"AListThatAgreesToAll",
               "class Bag(list):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
               "    def __len__(self): return 3\n",
               0,
               kWrong,
               "",
               {"b = Bag()\nassert b == [1, 2, 3]", "b = Bag()\nassert not b != [1]", "b = Bag()\nassert [1] == b"}},
        Threat{"AnythingOfMock",
               "from unittest.mock import ANY\ndef f(x): return ANY\n",
               0,
               kWrong,
               "wrong",
               {"assert f(2) == 4", "assert f(2) in [4]"}},
        Threat{"ItsOwnMath",
               "class math:\n    isclose = staticmethod(lambda *a, **k: True)\ndef f(x): return 0\n",
               0,
               kWrong,
               "wrong",
               {"assert math.isclose(f(2), 4)"}},
        Threat{"ALibraryTypeOfItsOwn",
               "import decimal\nclass Decimal(decimal.Decimal):\n    def __eq__(self, o): return True\n"
               "decimal.Decimal = Decimal\ndef f(x): return Decimal(7)\n",
               0,
               kWrong,
               "wrong",
               {"import decimal\nassert f(2) == decimal.Decimal(4)"}},
        Threat{"NothingLeftToCompare",
               "def f(a):\n    a.clear()\n    return []\n",
               0,
               kWrong,
               "wrong",
               {"a = [3, 1]\nassert f(a) == sorted(a)",
                "a = [3, 1]\nimport unittest\nunittest.TestCase().assertEqual(f(a), sorted(a))"}},
        Threat{"AnEndInAMethod",
               "class A:\n    def m(self, x): raise StopIteration\n",
               0,
               kWrong,
               "raises StopIteration",
               {"a = A()\nassert all(map(a.m, [1, 2]))", "a = A()\nassert sum(map(a.m, [1])) == 0"}},
        Threat{
            "AnEndInAnotherObject",
            "def f(*a): raise StopIteration\n",
            0,
            kWrong,
            "raises StopIteration",
            {"class T:\n    def __iter__(self): return self\n    def __next__(self): return f(1)\nassert list(T()) == "
             "[]",
             "class T:\n    def __bool__(self): return f(1)\nassert list(filter(None, [T()])) == []",
             "import itertools\nassert all(itertools.starmap(f, [(1, 2)]))", "assert list(iter(lambda: f(1), 2)) == []",
             "def same(x): return f(x) == x + 1\nassert all(map(same, [1, 2]))"}},
        Threat{"AnIteratorWithoutItems",
               "def f():\n    return\n    yield\n",
               0,
               kWrong,
               "",
               {"g = f()\ndef same(x): return next(g) == x\nassert all(map(same, [1, 2]))",
                "g = f()\nassert all(map(lambda x: g.__next__() == x, [1, 2]))",
                "g = f()\nassert all(map(lambda x: g.send(None) == x, [1, 2]))",
                "from itertools import starmap\ng = f()\ndef same(x): return next(g) == x\nassert all(starmap(same, "
                "[(1,)]))",
                "g = f()\nassert not list(filter(lambda x: next(g) != x, [1]))"}},
        Threat{"AnAbsentAttribute",
               "def f(*a): raise AttributeError\n",
               0,
               kWrong,
               "",
               {"class T:\n    @property\n    def v(self): return f(1)\nassert getattr(T(), 'v', 2) == 2",
                "class T:\n    v = property(lambda self: f(1))\nassert not hasattr(T(), 'v')",
                "from functools import cached_property\nclass T:\n    @cached_property\n    def v(self): return f(1)\n"
                "assert getattr(T(), 'v', 2) == 2",
                "class T:\n    def __getattribute__(self, name): return f(1)\nassert getattr(T(), 'v', 2) == 2"}},
        Threat{"AnAbsentLength",
               "def f(*a): raise TypeError\n",
               0,
               kWrong,
               "raises TypeError",
               {"class T:\n    def __len__(self):\n        assert f(1) == 2\n        return 0\n"
                "    def __iter__(self): return iter([])\nassert list(T()) == []"}},
        Threat{"ACallbacksGlobals",
               "def f(g):\n    for find in (lambda: g.__globals__['want'], lambda: g.__closure__[0].cell_contents,\n"
               "                 lambda: g.__code__.co_consts[-1], lambda: g.gi_frame.f_globals['want']):\n"
               "        try: return find()\n        except Exception: pass\n",
               0,
               kWrong,
               "wrong",
               {"want = 77\ndef g(x): return want\nassert f(g) == 77", "want = 77\nassert f(x for x in [1]) == want",
                "class C:\n    _want = 78\n    def ask(self): return 1\nassert f(C().ask) == C._want"}}),
    name_of);

// A value can be chosen so that the test itself never ends: it fails, and the judge continues with the next response.
TEST_F(Threats, AValueThatKeepsTheTestBusy) {
  const RewardResult result = judge("def f(x):\n    return 10**9\n", {"assert sum(range(f(1) * 100)) == 0"}, kRunsOut);
  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.status, kTimeout);
  EXPECT_THAT(result.reason, HasSubstr("the test does not finish with this value"));
  EXPECT_EQ(judge(kHonest, kAddsOne).value, 1);
}

// If threads are allowed, one that continues after the last call ends with the process.
TEST_F(Threats, AThreadThatStays) {
  const auto threads = create<Reward>("code", "code", {{"threads", true}, {"workers", 1}});
  const std::string code =
      "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin).start()\n" +
      std::string(kHonest);
  EXPECT_EQ(judge_code(code, kAddsOne, *threads).value, 1);
  EXPECT_EQ(judge_code(code, kAddsOne, *reward_).value, 0);
}

}  // namespace
}  // namespace drift::test
