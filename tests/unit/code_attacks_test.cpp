// What hostile programs try, in the order of the list of threats in docs/robustness.md. Each tells what its attempts
// came to; a program next to it keeps giving right answers; nothing is left of it (InSandbox).

#include <gmock/gmock.h>

#include <seccomp.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sandbox.h"
#include "tests/support/sandboxed.h"

namespace drift::code::code_attacks_test {
namespace {

using drift::test::kPrologue;
using drift::test::Patience;
using drift::test::Told;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

class CodeAttacks : public drift::test::InSandbox {
 protected:
  /// The program's output, while a neighbour keeps giving right answers.
  Told attack(const std::string& program, const SandboxLimits& limits = {}, const Patience& patience = {}) {
    auto neighbour =
        sandbox().start({.text = "import os\nwhile x := os.read(3, 9): os.write(4, b'%d' % (int(x) * 2))"});
    Told result = drift::test::told(sandbox(), program, limits, patience);
    const Deadline until = neighbour.deadline(2, 60);
    std::string answer;
    EXPECT_TRUE(neighbour.send("21", until));
    EXPECT_EQ(neighbour.receive(answer, 9, until), ReadStatus::kData);
    EXPECT_EQ(answer, "42");
    return result;
  }
};

TEST_F(CodeAttacks, ForkBomb) {
  EXPECT_EQ(attack("for _ in range(1000):\n    try: os.fork()\n    except PermissionError: pass\ntell('alone')").text,
            "alone\n");
  EXPECT_EQ(attack("tell(attempt(os.fork))").text, "PermissionError\n");
}

TEST_F(CodeAttacks, Daemonise) { EXPECT_EQ(attack("tell(attempt(os.setsid))").text, "PermissionError\n"); }

TEST_F(CodeAttacks, OtherPrograms) {
  EXPECT_EQ(attack(R"(
import subprocess, multiprocessing
tell(attempt(subprocess.run, ['ls']), os.system('ls') != 0, attempt(os.execv, '/bin/sh', ['sh']),
     attempt(os.posix_spawn, '/bin/sh', ['sh'], {}), attempt(multiprocessing.Process(target=print).start)))")
                .text,
            "PermissionError True FileNotFoundError PermissionError PermissionError\n");
}

TEST_F(CodeAttacks, TenThousandThreads) {
  const std::string program = R"(
import threading, time
count = 0
def start():
    global count
    while count < 10000:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        count += 1
result = attempt(start)
tell(result, count)
os._exit(0))";
  EXPECT_EQ(attack(program).text, "RuntimeError 0\n");
  // Where they are allowed, their stacks are part of the address space.
  const std::string with_threads = drift::test::told(Sandbox({.threads = true}), program).text;
  EXPECT_THAT(with_threads, testing::MatchesRegex("RuntimeError [0-9]\n"));
}

TEST_F(CodeAttacks, Memory) {
  EXPECT_EQ(attack("tell(attempt(bytearray, 4 << 30))").text, "MemoryError\n");
  EXPECT_EQ(attack(R"(
def grow():
    items = []
    while True: items.append(' ' * 100000)
tell(attempt(grow)))",
                   {}, {.cpu_seconds = 30})  // half a gigabyte of page faults may take more than the usual 2
                .text,
            "MemoryError\n");
  // Memory that is not address space: System V segments, anonymous files.
  EXPECT_EQ(attack(R"(
import ctypes
shmget = ctypes.CDLL(None).shmget
shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
tell(shmget(0, 1 << 30, 0o1600), attempt(os.memfd_create, 'x')))")
                .text,
            "-1 PermissionError\n");
}

TEST_F(CodeAttacks, Recursion) {
  EXPECT_EQ(attack("def f(): f()\ntell(attempt(f))").text, "RecursionError\n");
  const Told deep = attack(R"(
import sys
sys.setrecursionlimit(10 ** 9)
class Deep:
    def __repr__(self): return repr(Deep())
attempt(repr, Deep())
while True: pass)",
                           {}, {.cpu_seconds = 1});
  EXPECT_THAT(deep.end.signal, AnyOf(SIGSEGV, SIGKILL));
  EXPECT_THAT(attack("tell(attempt(eval, '(' * 10 ** 6))").text, AnyOf("MemoryError\n", "SyntaxError\n", ""));
}

TEST_F(CodeAttacks, LoopsThatNothingInsideInterrupts) {
  for (const char* loop :
       {"while True: pass", "9 ** 9 ** 9", "sum(range(10 ** 12))", "import re; re.match('(a+)+b', 'a' * 60)",
        "import signal\nfor n in range(1, 65):\n    attempt(signal.signal, n, signal.SIG_IGN)\n"
        "while True: pass"}) {
    const Told result = attack(loop, {}, {.cpu_seconds = 0.2});
    EXPECT_EQ(result.status, ReadStatus::kCpuLimit) << loop;
    EXPECT_EQ(result.end.signal, SIGKILL) << loop;
  }
}

TEST_F(CodeAttacks, Waiting) {
  for (const char* wait :
       {"import time; time.sleep(1000)", "import threading\nx = threading.Lock()\nx.acquire()\nx.acquire()",
        "import signal; signal.pause()", "os.read(3, 1)", "import select; select.select([], [], [])"}) {
    EXPECT_EQ(attack(wait, {}, {.wall_seconds = 0.3}).status, ReadStatus::kWallLimit) << wait;
  }
  EXPECT_EQ(attack("tell(attempt(input))").text, "EOFError\n");
}

TEST_F(CodeAttacks, SignalsToItself) {
  EXPECT_EQ(attack(R"(
import signal
tell(attempt(os.kill, os.getpid(), signal.SIGSTOP), attempt(signal.raise_signal, signal.SIGSTOP)))")
                .text,
            "PermissionError PermissionError\n");
  EXPECT_THAT(attack("os.abort()").end.signal, AnyOf(SIGABRT, SIGSEGV));
  EXPECT_EQ(attack("import ctypes; ctypes.string_at(0)").end.signal, SIGSEGV);
}

TEST_F(CodeAttacks, FloodsOfOutput) {
  const Patience little{.bytes = 65536};
  EXPECT_EQ(attack("while True: os.write(4, b'x' * 65536)", {}, little).text.size(), 65536U);
  auto process = sandbox().start({.text = "while True: print('x' * 1000)", .capture_output = true});
  std::string output;
  const Deadline until = process.deadline(2, 60);
  while (output.size() < 65536 && process.read_output(output, 65536 - output.size(), until) == ReadStatus::kData) {
  }
  EXPECT_EQ(output.size(), 65536U);
}

TEST_F(CodeAttacks, LargeFiles) {
  EXPECT_EQ(attack(R"(
def fill():
    with open('large', 'wb') as file:
        while True: file.write(bytes(1 << 16)); file.flush()
tell(attempt(fill), os.path.exists('large'), attempt(os.truncate, 'large', 1 << 40)))")
                .text,
            "OSError False FileNotFoundError\n");
}

TEST_F(CodeAttacks, ManyFiles) {
  EXPECT_EQ(attack(R"(
import errno
def fill(folder):
    try: open(folder + '/0', 'wb')
    except OSError as error: return errno.errorcode[error.errno]
tell(fill('/tmp'), fill('/dev/shm')))")
                .text,
            "EROFS EROFS\n");
}

TEST_F(CodeAttacks, ManyDescriptors) {
  EXPECT_EQ(attack("files = []\ndef grow():\n    while True: files.append(os.open('/tmp', os.O_RDONLY))\n"
                   "result = attempt(grow)\ntell(result, len(files) + 5)")
                .text,
            "OSError 64\n");
}

TEST_F(CodeAttacks, WritingOutside) {
  EXPECT_EQ(attack(R"(
import shutil, sys
folders = ['/', '/usr', '/usr/lib', '/dev', '/lib64', os.path.dirname(os.__file__), os.path.dirname(sys.executable)]
tell(*{attempt(open, folder + '/x', 'w') for folder in folders})
tell(attempt(os.unlink, os.__file__), attempt(os.rename, os.__file__, '/tmp/os.py'), attempt(os.mkdir, '/usr/x'))
shutil.rmtree('/', ignore_errors=True)
import statistics
tell(statistics.mean([1, 3])))")
                .text,
            "OSError\nOSError OSError OSError\n2\n");
}

// The one thing that a program shares with the host, and owns where root runs Drift.
TEST_F(CodeAttacks, ChangingTheNullDevice) {
  EXPECT_EQ(attack(R"(
import fcntl
tell({attempt(change, file, 0o600) for change in (os.chmod, os.fchmod) for file in (0, 1, 2)})
tell(attempt(os.chmod, '/dev/null', 0o600), attempt(os.chown, '/dev/null', 65534, 65534),
     attempt(os.utime, '/dev/null'), attempt(os.setxattr, '/dev/null', 'user.x', b'x'), attempt(os.unlink, '/dev/null'),
     attempt(fcntl.flock, 0, fcntl.LOCK_EX), attempt(fcntl.fcntl, 0, fcntl.F_SETLEASE, fcntl.F_RDLCK)))")
                .text,
            "{'PermissionError'}\nPermissionError PermissionError PermissionError PermissionError OSError "
            "PermissionError OSError\n");
}

TEST_F(CodeAttacks, ReadingForeignFiles) {
  const auto secret = std::filesystem::temp_directory_path() / ("secret-" + std::to_string(::getpid()));
  std::ofstream(secret) << "42";
  const Told result =
      attack("tell([path for path in ['" + secret.string() + R"(', '/etc', '/home', '/proc', '/sys', '/mnt',
    '/var', '/run', '/boot', '/usr/bin/ls', '/usr/share'] if os.path.exists(path)], os.listdir('/tmp')))");
  std::filesystem::remove(secret);
  EXPECT_EQ(result.text, "[] []\n");
}

TEST_F(CodeAttacks, EnvironmentAndDescriptors) {
  ::setenv("DRIFT_TEST_SECRET", "42", 1);
  const Told result = attack(R"(
def is_open(number):
    try: os.fstat(number)
    except OSError: return False
    return True
tell(sorted(os.environ), [number for number in range(64) if is_open(number)]))");
  ::unsetenv("DRIFT_TEST_SECRET");
  EXPECT_EQ(result.text, "['LANG', 'OMP_NUM_THREADS', 'PATH', 'PWD', 'PYTHONHASHSEED'] [0, 1, 2, 3, 4]\n");
}

TEST_F(CodeAttacks, Network) {
  EXPECT_EQ(attack(R"(
import socket
families = [getattr(socket, name) for name in dir(socket) if name.startswith('AF_')]
kinds = [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW]
tell({attempt(socket.socket, family, kind) for family in families for kind in kinds})
tell(attempt(socket.socketpair), attempt(socket.gethostbyname, 'example.org')))")
                .text,
            "{'PermissionError'}\nPermissionError gaierror\n");
}

TEST_F(CodeAttacks, Killing) {
  EXPECT_EQ(attack("tell({attempt(os.kill, process, 9) for process in (-1, 0, 1, 2, os.getppid(), " +
                   std::to_string(::getpid()) + ")})")
                .text,
            "{'PermissionError'}\n");
}

TEST_F(CodeAttacks, RaisingItsLimits) {
  EXPECT_EQ(attack(R"(
import resource
def raise_limit(limit):
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (hard + 1, hard + 1))
tell({attempt(raise_limit, limit) for limit in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_DATA,
      resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_STACK, resource.RLIMIT_CORE)})
tell(resource.getrlimit(resource.RLIMIT_CORE)))")
                .text,
            "{'ValueError'}\n(0, 0)\n");
}

TEST_F(CodeAttacks, DevicesAndTerminals) {
  EXPECT_EQ(attack(R"(
import fcntl, termios
tell(sorted(os.listdir('/dev')), attempt(os.mknod, '/tmp/device', 0o20666, os.makedev(1, 1)), attempt(open, '/dev/tty'))
tell(attempt(fcntl.ioctl, 0, termios.TIOCSTI, b'x'), attempt(os.openpty)))")
                .text,
            "['null', 'shm'] PermissionError FileNotFoundError\nOSError FileNotFoundError\n");
}

/// The numbers of this architecture's system calls that nothing may use, as a Python list.
std::string dangerous_system_calls() {
  std::istringstream names(
      "ptrace process_vm_readv process_vm_writev unshare setns mount umount2 pivot_root chroot bpf perf_event_open "
      "add_key request_key keyctl io_uring_setup io_uring_enter io_uring_register userfaultfd kexec_load "
      "init_module finit_module personality clone clone3 execveat pidfd_open pidfd_send_signal rt_sigqueueinfo "
      "tkill tgkill setpgid prctl seccomp setuid setgroups capset name_to_handle_at open_by_handle_at fanotify_init "
      "inotify_init1 mq_open msgget semget mlockall sync reboot swapon sethostname settimeofday sched_setaffinity "
      "setpriority timer_create io_setup fsopen open_tree quotactl acct syslog signalfd4 membarrier "
      "landlock_create_ruleset");
  std::string list = "[";
  for (std::string name; names >> name;) {
    const int number = seccomp_syscall_resolve_name(name.c_str());
    EXPECT_GE(number, 0) << name;
    list += std::to_string(number) + ",";
  }
  return list + "]";
}

TEST_F(CodeAttacks, SystemCallsThatAttackTheKernel) {
  EXPECT_EQ(attack(R"(
import ctypes, errno
call = ctypes.CDLL(None, use_errno=True).syscall
call.restype = ctypes.c_long
for number in )" + dangerous_system_calls() +
                   R"(:
    ctypes.set_errno(0)
    result = call(ctypes.c_long(number), *[ctypes.c_long(0)] * 6)
    if result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS): tell('possible:', number, ctypes.get_errno())
tell('all refused'))")
                .text,
            "all refused\n");
}

#ifdef __x86_64__
TEST_F(CodeAttacks, SystemCallsByAnotherArchitecturesNumbers) {
  // getpid of the x32 ABI, and by the 32-bit entry: mov eax, 20; int 0x80; ret
  EXPECT_EQ(attack("import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39)\ntell('alive')").end.signal, SIGSYS);
  EXPECT_EQ(attack(R"(
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
tell('alive'))")
                .end.signal,
            SIGSYS);
}
#endif

TEST_F(CodeAttacks, StayingAfterTheEnd) {
  const Told result = drift::test::told(Sandbox({.threads = true}), R"(
import threading
def stay():
    while True: pass
threading.Thread(target=stay).start()
os.close(4))",
                                        {}, {.cpu_seconds = 0.2});
  EXPECT_TRUE(result.end.stopped);
  EXPECT_EQ(result.end.signal, SIGKILL);
}

}  // namespace
}  // namespace drift::code::code_attacks_test
