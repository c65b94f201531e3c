#include "system_calls.h"

#include <drift/error.h>

#include <core/base/descriptor.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>

#include <cerrno>
#include <initializer_list>
#include <memory>

namespace drift::code {
namespace {

// Names that an architecture does not have (fork on aarch64, say) are passed over.
constexpr std::initializer_list<const char*> kAllowed = {
    // files: those of /tmp can be written, the rest of what is visible is mounted read-only
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek",
    "open", "openat", "creat", "close", "close_range", "stat", "fstat", "lstat", "newfstatat", "statx", "statfs",
    "fstatfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "chdir", "fchdir", "getdents",
    "getdents64", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link",
    "linkat", "symlink", "symlinkat", "truncate", "ftruncate", "fallocate", "umask", "fsync", "fdatasync",
    "copy_file_range", "sendfile", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
    // descriptors
    "dup", "dup2", "dup3", "pipe", "pipe2", "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1",
    "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd2",
    // memory
    "brk", "munmap", "mprotect", "mremap", "msync",
    // its own signals and timers
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigsuspend", "rt_sigtimedwait",
    "sigaltstack", "restart_syscall", "pause", "alarm", "getitimer", "setitimer",
    // time, chance, and questions about itself
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getrandom",
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getresuid", "getgid", "getegid", "getresgid", "getgroups",
    "getpgid", "getpgrp", "getsid", "getpriority", "uname", "sysinfo", "getrusage", "getrlimit", "setrlimit", "getcpu",
    "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min",
    "sched_yield",
    // needed by the C library itself; by the interpreter's start, which comes after the filter; by its exit
    "set_tid_address", "set_robust_list", "get_robust_list", "rseq", "arch_prctl", "execve", "wait4", "waitid", "exit",
    "exit_group"};

// Refused as not permitted, so that a program sees what happened. All others do not exist.
constexpr std::initializer_list<const char*> kRefused = {
    // other processes
    "fork", "vfork", "execveat", "setsid", "setpgid", "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "pidfd_open", "pidfd_send_signal", "pidfd_getfd", "ptrace", "process_vm_readv", "process_vm_writev",
    "process_madvise", "kcmp",
    // the network, and sockets of any kind
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg",
    "recvfrom", "recvmsg", "recvmmsg", "getsockopt", "setsockopt", "getsockname", "getpeername", "shutdown",
    // another view of the machine
    "unshare", "setns", "chroot", "pivot_root", "mount", "umount2", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "mount_setattr", "swapon", "swapoff", "mknod", "mknodat", "name_to_handle_at",
    "open_by_handle_at", "fanotify_init", "quotactl", "sync", "syncfs",
    // properties of files: /dev/null, which descriptors may be, is the host's, and belongs to root as this process does
    // where root runs Drift
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat",
    "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "flock",
    // which pages of the host's files are in memory: a channel between programs
    "mincore", "fadvise64",
    // memory that no limit counts
    "memfd_create", "memfd_secret", "mlock", "mlock2", "mlockall", "userfaultfd", "shmget", "shmat", "shmctl", "msgget",
    "semget", "mq_open",
    // the kernel's own programs, rings, keys and modules
    "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup", "add_key",
    "request_key", "keyctl", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "personality", "ioperm", "iopl", "modify_ldt", "syslog", "acct",
    // another identity, priority or clock
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid", "capset",
    "seccomp", "landlock_create_ruleset", "setpriority", "ioprio_set", "sched_setaffinity", "sched_setattr",
    "sched_setparam", "sched_setscheduler", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname",
    "setdomainname"};

// Questions about a descriptor, which is never a terminal.
constexpr std::initializer_list<unsigned long> kAllowedControls = {TCGETS,  TIOCGWINSZ, FIONREAD,
                                                                   FIONBIO, FIOCLEX,    FIONCLEX};
// Flags and copies: no leases on files of the host, no larger pipes, no signals.
constexpr std::initializer_list<unsigned> kAllowedFileControls = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,
                                                                  F_GETFL, F_SETFL,         F_GETPIPE_SZ};
// A lock on a file that others may open, such as /dev/null, can be seen by them: a channel between programs.
constexpr std::initializer_list<unsigned> kLocks = {F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};

// What memory allocators say of their own pages. Other advice moves pages of the host's files, or merges equal ones.
constexpr std::initializer_list<unsigned> kAllowedAdvice = {MADV_NORMAL,   MADV_RANDOM,     MADV_SEQUENTIAL,
                                                            MADV_WILLNEED, MADV_DONTNEED,   MADV_FREE,
                                                            MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP};

class Filter {
 public:
  explicit Filter(std::uint32_t otherwise) : context_(seccomp_init(otherwise), seccomp_release) {
    if (!context_) throw drift::Error("libseccomp has no filter for this machine");
    check(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "the architecture");
    check(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "its order");
  }

  void add(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number < 0) return;  // not on this architecture, or newer than libseccomp
    check(seccomp_rule_add_array(context_.get(), action, number, static_cast<unsigned>(conditions.size()),
                                 conditions.begin()),
          name);
  }

  std::string exported() const {
    const drift::Descriptor file = drift::memory_file();
    check(seccomp_export_bpf(context_.get(), file.get()), "the result");
    return contents_of(file);
  }

 private:
  static void check(int result, const std::string& what) {
    if (result < 0) throw drift::Error("libseccomp refuses the filter of system calls: " + what);
  }

  std::unique_ptr<void, decltype(&seccomp_release)> context_;
};

/// Programs map the same files of the host: there a futex is one that all of them share, and the number of those woken
/// says who waits. A lock within a process is private. Only the end of a thread is waited for by one that is not.
void add_futex(Filter& filter, bool threads) {
  filter.add(SCMP_ACT_ALLOW, "futex", {SCMP_A1_32(SCMP_CMP_MASKED_EQ, FUTEX_PRIVATE_FLAG, FUTEX_PRIVATE_FLAG)});
  const std::uint32_t otherwise = SCMP_ACT_ERRNO(EPERM);
  if (!threads) {
    filter.add(otherwise, "futex", {SCMP_A1_32(SCMP_CMP_MASKED_EQ, FUTEX_PRIVATE_FLAG, 0)});
    return;
  }
  for (const unsigned operation : {FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME}) {
    filter.add(SCMP_ACT_ALLOW, "futex", {SCMP_A1_32(SCMP_CMP_EQ, operation)});
  }
}

void add_memory(Filter& filter) {
  // Huge pages are the machine's, and few.
  filter.add(SCMP_ACT_ALLOW, "mmap", {SCMP_A3_32(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, 0)});
  filter.add(SCMP_ACT_ERRNO(EPERM), "mmap", {SCMP_A3_32(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, MAP_HUGETLB)});
  for (const unsigned advice : kAllowedAdvice) {
    filter.add(SCMP_ACT_ALLOW, "madvise", {SCMP_A2_32(SCMP_CMP_EQ, advice)});
  }
}

}  // namespace

std::string system_call_filter(bool threads, bool forks) {
  Filter filter(SCMP_ACT_ERRNO(ENOSYS));
  for (const char* name : kAllowed) filter.add(SCMP_ACT_ALLOW, name);
  for (const char* name : kRefused) filter.add(SCMP_ACT_ERRNO(EPERM), name);

  add_futex(filter, threads);
  add_memory(filter);
  // A new process is refused, and so is a new thread unless threads are allowed. The flags of clone3 are in memory,
  // where a filter cannot look: it does not exist, and the C library takes clone.
  constexpr unsigned long kNamespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (threads) filter.add(SCMP_ACT_ALLOW, "clone", {SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)});
  if (forks) {
    filter.add(SCMP_ACT_ALLOW, "clone", {SCMP_A0_64(SCMP_CMP_MASKED_EQ, kNamespaces | CLONE_THREAD, 0)});
  } else if (threads) {
    filter.add(SCMP_ACT_ERRNO(EPERM), "clone", {SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
  } else {
    filter.add(SCMP_ACT_ERRNO(EPERM), "clone");
  }
  for (const unsigned long control : kAllowedControls) {
    filter.add(SCMP_ACT_ALLOW, "ioctl", {SCMP_A1_32(SCMP_CMP_EQ, control)});
  }
  for (const unsigned control : kAllowedFileControls) {
    filter.add(SCMP_ACT_ALLOW, "fcntl", {SCMP_A1_32(SCMP_CMP_EQ, control)});
  }
  for (const unsigned lock : kLocks) filter.add(SCMP_ACT_ERRNO(EPERM), "fcntl", {SCMP_A1_32(SCMP_CMP_EQ, lock)});
  // Its own limits only (they cannot be raised: hard equals soft). A thread's name only: PR_SET_PDEATHSIG would let it
  // outlive the sandbox.
  filter.add(SCMP_ACT_ALLOW, "prlimit64", {SCMP_A0_32(SCMP_CMP_EQ, 0)});
  filter.add(SCMP_ACT_ALLOW, "prctl", {SCMP_A0_32(SCMP_CMP_EQ, PR_SET_NAME)});
  filter.add(SCMP_ACT_ALLOW, "prctl", {SCMP_A0_32(SCMP_CMP_EQ, PR_GET_NAME)});
  if (forks) filter.add(SCMP_ACT_ALLOW, "prctl", {SCMP_A0_32(SCMP_CMP_EQ, PR_SET_SECCOMP)});
  return filter.exported();
}

std::string process_filter() {
  Filter filter(SCMP_ACT_ALLOW);
  for (const char* name : {"fork", "vfork"}) filter.add(SCMP_ACT_ERRNO(EPERM), name);
  filter.add(SCMP_ACT_ERRNO(EPERM), "clone", {SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
  return filter.exported();
}

}  // namespace drift::code
