// A verdict is a function of its request: nothing that the tests of one item do changes what another gets.

#include <tests/support/code.h>

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace drift::code_independence_test {
namespace {

struct Disturbance {
  const char* name;
  const char* code;
};

// By way of Python. Those that break the connection of their own test cost it that test, and nobody else.
const Disturbance kOfPython[] = {
    {"Numbers",
     "import decimal, math, sys\ndecimal.getcontext().prec = 3\nmath.pi = 3\nsys.set_int_max_str_digits(640)"},
    {"Builtins", "import builtins\nbuiltins.abs = lambda x: 7\nbuiltins.len = None\nbuiltins.AssertionError = OSError"},
    {"Modules", "import sys\nsys.modules.clear()\nsys.meta_path.clear()\nsys.path.clear()"},
    {"Library", "import json, re, ast\njson.loads = re.compile = re.match = ast.parse = ast.walk = None"},
    {"Random", "import random\nrandom.seed = random.random = lambda *a: 0"},
    {"Limits", "import sys, resource\nsys.setrecursionlimit(80)\nresource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))"},
    {"Hooks", "import sys\nsys.settrace(lambda *a: None)\nsys.excepthook = sys.stdout = sys.stderr = None"},
    {"Audits",
     "import sys\ndef hook(event, a):\n    if event in ('os.fork', 'compile'): raise OSError\n"
     "sys.addaudithook(hook)"},
    {"Signals",
     "import signal\nsignal.alarm(1)\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
     "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))"},
    {"Surroundings", "import os, time\nos.environ['TZ'] = 'UTC-9'\ntime.tzset()\nos.chdir('/usr')\nos.umask(0o777)"},
    {"System",
     "import os, posix, time\nos.fork = os.waitpid = posix.read = posix.write = time.process_time = None\n"
     "os._exit = print"},
    {"Collector", "import gc\ngc.disable()\ngc.set_debug(gc.DEBUG_SAVEALL)\ngc.set_threshold(1)"},
};

// By way of the system: descriptors, processes, the end.
const Disturbance kOfTheSystem[] = {
    {"UsedUp", "import os\ntry:\n    while True: os.open('/dev/null', 0)\nexcept OSError: pass"},
    {"Closed", "import os\nos.closerange(0, 64)"},
    {"ClosedInput", "import os\nos.close(3)"},
    {"AnotherInput", "import os\nos.dup2(os.open('/dev/null', 0), 3)"},
    {"NotBlocking", "import os\nos.set_blocking(3, False)\nos.set_blocking(4, False)"},
    {"Prints", "import os\nos.write(4, b'a line of progress\\n')"},
    {"AnEmptyMessage", "import os\nos.write(4, bytes(4))"},
    {"ACall", "import os\nos.write(4, b'\\2\\0\\0\\0C\\0')"},
    {"AnAnswer", "import os\nos.write(4, b'\\2\\0\\0\\0A\\0')"},
    {"AnEnd", "import os\nos.write(4, b'\\1\\0\\0\\0D')\nos._exit(0)"},
    {"AVerdictOfNoTest", "import os\nos.write(4, b'\\x09\\0\\0\\0P\\xff\\xff\\xff\\xffpass')"},
    {"HalfAVerdict", "import os\nos.write(4, b'\\2\\0\\0\\0P\\0')"},
    {"AMistakeInTheTests", "import os\nos.write(4, b'\\2\\0\\0\\0X?')"},
    {"Ends", "import os\nos._exit(0)"},
    {"EndsBadly", "import os\nos._exit(3)"},
    {"Crashes", "import ctypes\nctypes.string_at(0)"},
    {"ACopyThatReads", "import os\nif os.fork() == 0:\n    while True: os.read(3, 1)"},
    {"ACopyThatWrites", "import os\nif os.fork() == 0:\n    while True: os.write(4, b'\\1\\0\\0\\0H')"},
    {"ACopyThatGoesOn", "import os, math\nif os.fork() == 0: math.pi = 3"},
    {"AProcess", "import subprocess, sys\nsubprocess.Popen([sys.executable, '-S', '-c', 'while True: input(3)'])"},
    {"AnotherProcess", "import ctypes\nctypes.CDLL(None).fork()"},
};

using CodeIndependence = test::NeedsSandbox<testing::TestWithParam<Disturbance>>;

TEST_P(CodeIndependence, OfWhatOtherTestsDo) {
  // One worker: both items meet the same judge.
  const auto reward = test::create<Reward>("code", "code", {{"workers", std::int64_t{1}}});
  const std::string code = "def f(x):\n    return x + 1";
  const std::vector<std::string> probe = {
      "assert f(1) == 2",
      "import decimal, math, sys, gc, os, json, signal, time\n"
      "assert (f(1), decimal.getcontext().prec, sys.getrecursionlimit(), math.pi) == (2, 28, 1000, 3.141592653589793)\n"
      "assert abs(-f(1)) == len('ab') and json.loads('[2]') == [f(1)] and len(str(10 ** 4000)) == 4000 + f(0)\n"
      "assert os.open('/dev/null', 0) < 9 + f(0) and gc.isenabled() and sys.gettrace() is None and f(0) == 1\n"
      "assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set() and time.timezone == 0 and f(0) == 1"};
  const auto before = test::judge_code(code, probe, *reward);
  EXPECT_EQ(before.value, 1) << before.reason;
  const std::string disturb = std::string(GetParam().code) + "\nassert f(1) == 2";
  test::judge_code(code, {disturb}, *reward);
  const auto after = test::judge_code(code, probe, *reward);
  EXPECT_EQ(after.value, 1) << after.reason;
  EXPECT_EQ(after.reason, before.reason);
  const auto wrong = test::judge_code("def f(x):\n    return x", probe, *reward);
  EXPECT_EQ(wrong.value, 0) << wrong.reason;
}

std::string name_of(const testing::TestParamInfo<Disturbance>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Python, CodeIndependence, testing::ValuesIn(kOfPython), name_of);
INSTANTIATE_TEST_SUITE_P(System, CodeIndependence, testing::ValuesIn(kOfTheSystem), name_of);

}  // namespace
}  // namespace drift::code_independence_test
