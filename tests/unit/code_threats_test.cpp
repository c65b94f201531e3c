// Programs that attack the machine. Each row is a program and its verdict: nothing, or what honest code earns where the
// attack was caught inside and came to nothing. Programs that look for something return the right answer only if they
// find it.

#include "tests/support/code_threats.h"

namespace drift::test {
namespace {

using testing::Values;

// Loads, then runs `attack` in each call, and is right only if it did not raise.
std::string in_call(const std::string& attack) { return "import os\ndef f(x):\n" + attack + "    return x + 1\n"; }

// Honest code after an attack whose failure it catches.
std::string caught(const std::string& attack) {
  std::string lines = "import os\ntry:\n";
  lines += attack;
  return lines + "except Exception:\n    pass\n" + kHonest;
}

// A function of the C library, right only if it succeeds.
std::string libc(const std::string& call) {
  return "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\ndef f(x):\n    if libc." + call +
         " < 0: raise OSError(ctypes.get_errno(), '')\n    return x + 1\n";
}

TEST_P(Threats, GetsNowhere) {
  const Threat& threat = GetParam();
  const RewardResult result = judge(threat);
  EXPECT_DOUBLE_EQ(result.value, threat.value) << result.reason;
  EXPECT_EQ(result.solved, threat.value == 1);
  EXPECT_EQ(result.status, threat.status) << result.reason;
  EXPECT_THAT(result.reason, testing::HasSubstr(threat.reason));
}

std::string name_of(const testing::TestParamInfo<Threat>& info) { return info.param.name; }

constexpr auto kOk = RewardStatus::kOk;
constexpr auto kWrong = RewardStatus::kWrong;
constexpr auto kCrashed = RewardStatus::kCrashed;
constexpr auto kTimeout = RewardStatus::kTimeout;
constexpr auto kResource = RewardStatus::kResource;
const std::vector<std::string> kOneTest = {"assert f(1) == 2"};

INSTANTIATE_TEST_SUITE_P(
    Processes, Threats,
    Values(Threat{"ForkBomb", "import os\nwhile True:\n    os.fork()\n" + std::string(kHonest), 0, kCrashed,
                  "PermissionError while loading"},
           Threat{"ForkInACall", in_call("    os.fork()\n"), 0, kWrong, "raises PermissionError"},
           Threat{"Daemon", caught("    if os.fork() == 0:\n        os.setsid()\n        os.fork()\n"), 1, kOk,
                  "3 of 3 tests passed"},
           Threat{"NewSession", in_call("    os.setsid()\n"), 0, kWrong, "raises PermissionError"},
           Threat{"Subprocess", in_call("    import subprocess\n    subprocess.run(['true'], check=True)\n"), 0, kWrong,
                  "raises PermissionError"},
           Threat{"System", in_call("    if os.system('true') != 0: raise OSError\n"), 0, kWrong, "raises OSError"},
           Threat{"Spawn", in_call("    os.posix_spawn('/usr/bin/true', ['true'], {})\n"), 0, kWrong,
                  "raises PermissionError"},
           Threat{"ManyThreads",
                  "import threading, time\ndef f(x):\n    for _ in range(10000):\n"
                  "        threading.Thread(target=time.sleep, args=(100,)).start()\n    return x + 1\n",
                  0, kWrong, "raises RuntimeError"},
           Threat{"LocksASharedFile",
                  in_call("    import fcntl\n    fcntl.lockf(os.open('/dev/null', os.O_RDWR), fcntl.LOCK_EX, 1, x)\n"),
                  0, kWrong, "raises PermissionError"},
           Threat{"LooksForALock",
                  in_call("    import fcntl, struct\n    fcntl.fcntl(os.open('/dev/null', os.O_RDWR), fcntl.F_GETLK, "
                          "struct.pack('hhqqi', 1, 0, 0, 0, 0))\n"),
                  0, kWrong, "raises PermissionError"},
           Threat{"KillsItsParent", in_call("    os.kill(os.getppid(), 9)\n"), 0, kWrong, "raises PermissionError"},
           Threat{"KillsEverybody", in_call("    os.kill(-1, 9)\n"), 0, kWrong, "raises PermissionError"},
           Threat{"StopsItself", in_call("    import signal\n    os.kill(os.getpid(), signal.SIGSTOP)\n"), 0, kWrong,
                  "raises PermissionError"},
           Threat{"TracesOthers", libc("ptrace(16, os.getppid(), 0, 0)"), 0, kWrong, "raises PermissionError"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Memory, Threats,
    Values(Threat{"OneHugeAllocation", in_call("    bytearray(4 << 30)\n"), 0, kResource, "raises MemoryError"},
           Threat{"OneHugeAllocationWhileLoading", "x = bytearray(4 << 30)\n" + std::string(kHonest), 0, kResource,
                  "MemoryError while loading"},
           Threat{"AGrowingList", in_call("    a = []\n    while True: a.append(bytes(1 << 20))\n"), 0, kResource,
                  "raises MemoryError"},
           Threat{"AHugeString", in_call("    'a' * 10**9\n"), 0, kResource, "raises MemoryError"},
           Threat{"Recursion", "def f(x):\n    return f(x)\n", 0, kWrong, "raises RecursionError"},
           Threat{"RaisesItsLimits",
                  in_call("    import resource\n    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))\n"), 0, kWrong,
                  "raises ValueError"},
           Threat{"RaisesItsProcessorTime",
                  in_call("    import resource\n    resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))\n"), 0, kWrong,
                  "raises ValueError"},
           Threat{"ADeepExpression", in_call("    eval('(' * 10**6)\n"), 0, kWrong, "raises SyntaxError"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Time, Threats,
    Values(
        Threat{"EndlessLoop", in_call("    while True: pass\n"), 0, kTimeout, "timeout"},
        Threat{"EndlessLoopWhileLoading", "while True: pass\n", 0, kTimeout, "timeout while loading"},
        Threat{"OneOfFiveTestsLoops",
               "def f(x):\n    while x == 2: pass\n    return x + 1\n",
               0.8,
               kTimeout,
               "timeout",
               {"assert f(1) == 2", "assert f(2) == 3", "assert f(3) == 4", "assert f(4) == 5", "assert f(5) == 6"}},
        Threat{"Sleep", in_call("    import time\n    time.sleep(1000)\n"), 0, kTimeout, "timeout", kOneTest},
        Threat{"ALockThatIsHeld",
               in_call("    import threading\n    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()\n"),
               0, kTimeout, "timeout", kOneTest},
        Threat{"WaitsForTheParent", in_call("    os.read(3, 1)\n"), 0, kTimeout, "timeout", kOneTest},
        Threat{"APowerTower", in_call("    9**9**9\n"), 0, kTimeout, "timeout", kOneTest},
        Threat{"ALongSum", in_call("    sum(range(10**12))\n"), 0, kTimeout, "timeout", kOneTest},
        Threat{"ASlowPattern", in_call("    import re\n    re.match('(a+)+$', 'a' * 40 + 'b')\n"), 0, kTimeout,
               "timeout", kOneTest},
        Threat{"IgnoresSignals",
               "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n"
               "    except (OSError, ValueError): pass\ndef f(x):\n    while True: pass\n",
               0, kTimeout, "timeout", kOneTest},
        Threat{"SpeaksForEver", in_call("    while True: print('x' * 1000)\n"), 0, kTimeout, "timeout", kOneTest},
        Threat{"SpeaksMuch", "def f(x):\n    print('x' * 1000000)\n    return x + 1\n", 1, kOk, "3 of 3 tests passed"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Files, Threats,
    Values(
        Threat{"AHugeFile", in_call("    open('/tmp/big', 'wb').write(bytes(1 << 26))\n"), 0, kWrong, "raises OSError"},
        Threat{"ManyFiles",
               in_call("    for i in range(10**6):\n        open(f'/tmp/{i}', 'wb').write(bytes(1 << 16))\n"), 0,
               kWrong, "raises OSError"},
        Threat{"SharedMemory",
               in_call("    for i in range(100):\n        open(f'/dev/shm/{i}', 'wb').write(bytes(1 << 16))\n"), 0,
               kWrong, "raises OSError"},
        Threat{"RemovesEverything", caught("    import shutil\n    shutil.rmtree('/', ignore_errors=True)\n"), 1, kOk,
               "3 of 3 tests passed"},
        Threat{"WritesIntoTheSystem", in_call("    open('/usr/lib/drift', 'w')\n"), 0, kWrong, "raises OSError"},
        Threat{"ReadsPasswords", in_call("    open('/etc/passwd').read()\n"), 0, kWrong, "raises FileNotFoundError"},
        Threat{"ReadsHome", in_call("    if not os.listdir('/root') + os.listdir('/home'): raise OSError\n"), 0, kWrong,
               "raises FileNotFoundError"},
        Threat{"LooksForOtherProcesses",
               in_call("    if not [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 3]: raise OSError\n"), 0,
               kWrong, "raises FileNotFoundError"},
        Threat{"LooksForSecretVariables", in_call("    os.environ['DRIFT_TEST_SECRET']\n"), 0, kWrong,
               "raises KeyError"},
        Threat{"LooksForOpenFiles",
               in_call("    for d in range(5, 64):\n        try: os.fstat(d)\n"
                       "        except OSError: continue\n        break\n    else: raise OSError\n"),
               0, kWrong, "raises OSError"},
        Threat{"LooksForGraphicsCards",
               in_call("    import glob\n    if not glob.glob('/dev/nvidia*'): raise OSError\n"), 0, kWrong,
               "raises OSError"},
        Threat{"TypesIntoTheTerminal", in_call("    import fcntl\n    fcntl.ioctl(0, 0x5412, b'x')\n"), 0, kWrong,
               "raises OSError"},
        Threat{"DumpsItsMemory", in_call("    os.abort()\n"), 0, kCrashed, ""},
        Threat{"AllowsDumps",
               in_call("    import resource\n    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0: raise OSError\n"),
               0, kWrong, "raises OSError"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Kernel, Threats,
    Values(Threat{"Network", in_call("    import socket\n    socket.create_connection(('127.0.0.1', 80), 1)\n"), 0,
                  kWrong, "raises PermissionError"},
           Threat{"ASocket", in_call("    import socket\n    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"), 0,
                  kWrong, "raises PermissionError"},
           Threat{"AnAbstractSocket", in_call("    import socket\n    socket.socket(socket.AF_UNIX)\n"), 0, kWrong,
                  "raises PermissionError"},
           Threat{"ANameLookUp",
                  in_call("    import socket\n    socket.getaddrinfo('localhost', 80)\n    socket.socketpair()\n"), 0,
                  kWrong, "raises OSError"},
           Threat{"Netlink", in_call("    import socket\n    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\n"), 0,
                  kWrong, "raises PermissionError"},
           Threat{"UserNamespace", libc("unshare(0x10000000)"), 0, kWrong, "raises PermissionError"},
           Threat{"Mount", libc("mount(b'none', b'/tmp', b'tmpfs', 0, 0)"), 0, kWrong, "raises PermissionError"},
           Threat{"Chroot", libc("chroot(b'/tmp')"), 0, kWrong, "raises PermissionError"},
           Threat{"EntersANamespace", libc("setns(0, 0)"), 0, kWrong, "raises PermissionError"}),
    name_of);

#ifdef __x86_64__  // system calls by their numbers
INSTANTIATE_TEST_SUITE_P(
    KernelByNumber, Threats,
    Values(Threat{"InputOutputRing", libc("syscall(425, 1, 0)"), 0, kWrong, "raises PermissionError"},
           Threat{"KernelPrograms", libc("syscall(321, 0, 0, 0)"), 0, kWrong, "raises PermissionError"},
           Threat{"PerformanceEvents", libc("syscall(298, 0, 0, -1, -1, 0)"), 0, kWrong, "raises PermissionError"},
           Threat{"Keys", libc("syscall(250, 0, -3, 0)"), 0, kWrong, "raises PermissionError"},
           Threat{"KernelModules", libc("syscall(175, 0, 0, b'')"), 0, kWrong, "raises PermissionError"},
           Threat{"FaultHandler", libc("syscall(323, 0)"), 0, kWrong, "raises PermissionError"},
           Threat{"Personality", libc("syscall(135, 0x0400000)"), 0, kWrong, "raises PermissionError"},
           Threat{"AnotherKernel", libc("syscall(246, 0, 0, 0, 0)"), 0, kWrong, "raises PermissionError"},
           Threat{"ReadsOthersMemory", libc("syscall(310, os.getppid(), 0, 0, 0, 0, 0)"), 0, kWrong,
                  "raises PermissionError"}),
    name_of);

#endif

// These end at the first limit that they meet: of the stack, memory or files, or of time on a slow machine.
TEST_F(Threats, WhatEndsAtALimitOrAnother) {
  const std::string code = "import sys\nsys.setrecursionlimit(10**9)\ndef f(x):\n    return [f(x), x]\n";
  EXPECT_EQ(judge(code, kOneTest, kRunsOut).value, 0);
  const std::string deep = "def f(x):\n    a = ()\n    for _ in range(10**6): a = (a,)\n    return hash(a)\n";
  EXPECT_EQ(judge(deep, kOneTest, kRunsOut).value, 0);
  const std::string files = "    i = 0\n    while True:\n        open(f'/tmp/{i}', 'w').close()\n        i += 1\n";
  EXPECT_EQ(judge(in_call(files), kOneTest, kRunsOut).value, 0);
}

TEST_F(Threats, AFileOfTheHostCannotBeRead) {
  const RewardResult result = judge(in_call("    open('" + secret_file() + "').read()\n"), kAddsOne);
  EXPECT_EQ(result.value, 0) << result.reason;
  EXPECT_TRUE(std::filesystem::exists(secret_file()));
}

TEST_F(Threats, AFolderOfTheHostCannotBeRemoved) {
  const std::string folder = std::filesystem::path(secret_file()).parent_path();
  EXPECT_EQ(judge(caught("    import shutil\n    shutil.rmtree('" + folder + "')\n"), kAddsOne).value, 1);
  EXPECT_TRUE(std::filesystem::exists(secret_file()));
}

}  // namespace
}  // namespace drift::test
