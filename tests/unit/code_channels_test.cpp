// Programs that are judged at the same time share files of the host, read-only, and its kernel. What could tell one of
// the other is refused.

#include <gmock/gmock.h>

#include <sys/syscall.h>

#include <string>

#include "sandbox.h"
#include "tests/support/sandboxed.h"

namespace drift::code::code_channels_test {
namespace {

using drift::test::Told;

class CodeChannels : public drift::test::InSandbox {
 protected:
  /// The output of a program that has `call(number, …)`, which is "refused" or what the kernel said, the open shared
  /// files `files`, and the address `shared` of a page of one.
  Told channel(const std::string& program, bool threads = false) {
    const std::string prologue = R"(
import ctypes, errno, fcntl, mmap, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
def call(number, *arguments):
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *words + [ctypes.c_long(0)] * (6 - len(words)))
    error = ctypes.get_errno()
    return 'refused' if result == -1 and error in (errno.EPERM, errno.ENOSYS) else (result, errno.errorcode.get(error))
files = [os.open(os.__file__, 0), os.open('/dev/null', os.O_RDWR), 0, 1, 2]
shared = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_SHARED, files[0], ctypes.c_long(0))
page = ctypes.c_void_p(shared)
memory = ctypes.create_string_buffer(4096)
)";
    if (threads) return drift::test::told(Sandbox({.threads = true}), prologue + program);
    return drift::test::told(sandbox(), prologue + program);
  }
};

std::string number(long system_call) { return std::to_string(system_call); }

TEST_F(CodeChannels, Locks) {
  EXPECT_EQ(channel(R"(
lock = ctypes.create_string_buffer(struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 1, 0))
get, set, wait, ofd = fcntl.F_GETLK, fcntl.F_SETLK, fcntl.F_SETLKW, (36, 37, 38)
tell({call()" + number(SYS_fcntl) +
                    R"(, file, command + high, lock) for file in files for command in (get, set, wait, *ofd)
      for high in (0, 1 << 32)})
tell({attempt(os.lockf, file, command, 0) for file in files for command in (os.F_LOCK, os.F_TLOCK, os.F_TEST, os.F_ULOCK)})
tell({attempt(lock, file, kind | wait) for lock in (fcntl.flock, fcntl.lockf) for file in files
      for kind in (fcntl.LOCK_SH, fcntl.LOCK_EX) for wait in (0, fcntl.LOCK_NB)})
tell({libc.lockf(file, 1, ctypes.c_long(1)) for file in files}, {libc.flock(file, fcntl.LOCK_EX) for file in files}))")
                .text,
            "{'refused'}\n{'PermissionError'}\n{'PermissionError'}\n{-1} {-1}\n");
}

TEST_F(CodeChannels, LeasesNotesAndHints) {
  // F_SETLEASE to F_NOTIFY, owners and signals, sizes of pipes, seals, hints on the file itself
  EXPECT_EQ(channel("commands = (*range(1024, 1027), *range(8, 12), 15, 16, 1031, *range(1033, 1039))\n"
                    "tell({call(" +
                    number(SYS_fcntl) +
                    ", file, command, 0) for file in files for command in commands})\n"
                    "tell(call(" +
                    number(SYS_inotify_init1) + ", 0), call(" + number(SYS_fanotify_init) + ", 0, 0))")
                .text,
            "{'refused'}\nrefused refused\n");
}

TEST_F(CodeChannels, FutexesOnSharedPages) {
  const std::string operations = "{call(" + number(SYS_futex) + ", page, operation, 1, 0, page, 0) for operation in ";
  // Every operation but waiting, which would last: 1 is FUTEX_WAKE, 3 to 5 wake or move others, 10 as 1.
  EXPECT_EQ(channel("tell(" + operations + "(1, 3, 4, 5, 10)})\ntell(" + operations + "(0, 9)})").text,
            "{'refused'}\n{'refused'}\n");
  EXPECT_EQ(channel("tell(" + operations + "(1, 3, 4, 5, 10)})", /*threads=*/true).text, "{'refused'}\n");
  // Locks of Python itself still work.
  EXPECT_EQ(channel("import threading, queue\nq = queue.Queue()\nt = threading.Thread(target=q.put, args=(5,))\n"
                    "t.start()\nt.join()\ntell(q.get())",
                    /*threads=*/true)
                .text,
            "5\n");
}

TEST_F(CodeChannels, PagesOfSharedFiles) {
  // Which are in memory, and having them removed from it or merged: MADV_REMOVE, MERGEABLE, COLD, PAGEOUT,
  // POPULATE_READ
  EXPECT_EQ(
      channel("tell(call(" + number(SYS_mincore) + ", page, 4096, memory), call(" + number(SYS_fadvise64) +
              ", files[0], 0, 0, 4), call(" + number(SYS_readahead) + ", files[0], 0, 4096))\ntell({call(" +
              number(SYS_madvise) + ", page, 4096, advice) for advice in (9, 12, 13, 18, 20, 21, 22, 23, 25, 100)})")
          .text,
      "refused refused refused\n{'refused'}\n");
}

TEST_F(CodeChannels, MemoryThatTheMachineHasFewOf) {
  EXPECT_EQ(channel("tell({attempt(mmap.mmap, -1, 2 << 20, flags | 0x40000) for flags in (0x22, 0x21)},\n"
                    "     call(" +
                    number(SYS_mlock) + ", page, 4096), call(" + number(SYS_memfd_create) + ", b'x', 0))")
                .text,
            "{'PermissionError'} refused refused\n");
}

TEST_F(CodeChannels, NamesInTheKernel) {
  // Shared memory, semaphores, queues, keys, sockets with a name or without
  EXPECT_EQ(channel("tell({call(number, 1234, 4096, 0o1666) for number in (" + number(SYS_shmget) + ", " +
                    number(SYS_semget) + ", " + number(SYS_msgget) + ")})\ntell(call(" + number(SYS_mq_open) +
                    ", b'/x', 0o102, 0o666, 0), call(" + number(SYS_add_key) + ", b'user', b'a', b'b', 1, -3), call(" +
                    number(SYS_keyctl) + ", 0, -3, 0))\ntell({call(" + number(SYS_socket) +
                    ", family, kind, 0) for family in (1, 2, 10, 16, 17, 38, 40) for kind in (1, 2, 3, 5)},\n" +
                    "     {libc.shm_open(b'/x', 0o102, 0o600)})")
                .text,
            "{'refused'}\nrefused refused refused\n{'refused'} {-1}\n");
}

TEST_F(CodeChannels, TimesAndFlagsOfSharedFiles) {
  EXPECT_EQ(channel(R"(
paths = (os.__file__, '/dev/null')
def times(): return [(s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns) for s in map(os.stat, paths)]
before = times()
for path in paths:
    with open(path, 'rb') as file: file.read()
os.write(files[1], b'x')
tell(times() == before, {attempt(change, path) for change in (os.utime,) for path in paths})
# A descriptor's flags and place are shared with whoever has it from the same opening.
tell([os.get_blocking(file) for file in (0, 1, 2)], [attempt(os.set_blocking, file, False) for file in (0, 1, 2)]))")
                .text,
            "True {'PermissionError'}\n[True, True, True] ['done', 'done', 'done']\n");
  EXPECT_EQ(channel("tell([os.get_blocking(file) for file in (0, 1, 2)])").text, "[True, True, True]\n");
}

}  // namespace
}  // namespace drift::code::code_channels_test
