#include "sandbox.h"

#include "system_calls.h"

#include <drift/error.h>

#include <boost/algorithm/hex.hpp>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace drift::code {
namespace {

// Descriptors of the child. Bubblewrap reads all but the first two and closes them.
constexpr int kToProgram = 3;
constexpr int kFromProgram = 4;
constexpr int kFilter = 5;
constexpr int kInformation = 6;
constexpr int kGo = 7;
constexpr int kInputFile = 8;

constexpr std::size_t kMaxText = 120'000;  // the kernel takes arguments of up to 128 KiB
constexpr int kStartMilliseconds = 30'000;

constexpr const char* kHowToAllow =
    "allow user namespaces, in a container also mounts (docs/robustness.md has the options)";

std::string required(const char* program, const char* package) {
  std::string path = drift::find_program(program);
  if (path.empty()) {
    throw drift::Error(std::string("the code reward needs ") + program + ", which is not in PATH",
                       std::string("install Debian's package ") + package);
  }
  return path;
}

/// `--what=limit`, soft and hard; no higher than this process may go itself.
template <typename Resource>
std::string limit(const char* what, Resource resource, std::int64_t wanted) {
  rlimit own{};
  auto value = static_cast<rlim_t>(std::max<std::int64_t>(wanted, 0));
  if (::getrlimit(resource, &own) == 0) value = std::min(value, own.rlim_max);
  return std::string("--") + what + "=" + std::to_string(value);
}

void append(std::vector<std::string>& to, std::initializer_list<std::string> more) { to.insert(to.end(), more); }

/// The number after "child-pid" in bubblewrap's report; -1 while that is incomplete (a closed pipe would kill it).
pid_t told_process(const std::string& information) {
  constexpr std::string_view kKey = "\"child-pid\":";
  const auto key = information.find(kKey);
  if (key == std::string::npos || information.find('}') == std::string::npos) return -1;
  const auto begin = information.find_first_not_of(' ', key + kKey.size());
  const auto end = information.find_first_not_of("0123456789", begin);
  pid_t id = -1;
  std::from_chars(information.data() + begin, information.data() + end, id);
  return id;
}

}  // namespace

std::vector<std::string> Sandbox::limits(const SandboxLimits& limits) const {
  // Processor time is cut by the kernel here, in full seconds, whether or not anyone waits for the program.
  return {prlimit_,
          limit("cpu", RLIMIT_CPU, static_cast<std::int64_t>(std::ceil(limits.cpu_seconds))),
          limit("as", RLIMIT_AS, limits.memory_bytes),
          limit("data", RLIMIT_DATA, limits.memory_bytes),
          limit("stack", RLIMIT_STACK, limits.stack_bytes),
          limit("fsize", RLIMIT_FSIZE, limits.file_bytes),
          limit("nofile", RLIMIT_NOFILE, limits.open_files),
          limit("core", RLIMIT_CORE, 0),
          limit("memlock", RLIMIT_MEMLOCK, 0),
          limit("msgqueue", RLIMIT_MSGQUEUE, 0)};
}

std::vector<std::string> Sandbox::confinement(const SandboxedProgram& program) const {
  std::vector<std::string> arguments = {bwrap_, "--die-with-parent"};
  append(arguments, {"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"});
  append(arguments, {"--unshare-cgroup-try", "--cap-drop", "ALL", "--hostname", "sandbox"});
  append(arguments, {"--uid", "65534", "--gid", "65534"});
  if (forbid_user_namespaces_) append(arguments, {"--disable-userns"});
  // The interpreter is the first process of its namespace: there is no other one to attack, and its death ends the
  // sandbox.
  append(arguments, {"--as-pid-1"});
  for (const auto& path : interpreter_.read) append(arguments, {"--ro-bind", path, path});
  for (const auto& [path, target] : interpreter_.links) append(arguments, {"--symlink", target, path});
  // No /proc and no /sys: Python runs without, and they tell of the host.
  append(arguments, {"--dev-bind", "/dev/null", "/dev/null"});
  if (!program.standard_input.empty()) {
    append(arguments,
           {"--ro-bind-data", std::to_string(kInputFile), "/dev/stdin", "--symlink", "../stdin", "/dev/fd/0"});
  } else if (program.capture_output) {
    append(arguments, {"--symlink", "null", "/dev/stdin", "--symlink", "../null", "/dev/fd/0"});
  }
  append(arguments, {"--dir", "/tmp", "--dir", "/dev/shm", "--chdir", "/tmp"});
  append(arguments, {"--remount-ro", "/"});
  return arguments;
}

/// Tries it once, so that whatever forbids it is reported here, in bubblewrap's words. If /proc/sys is mounted
/// read-only, as in many containers, the filter of system calls alone forbids further user namespaces.
void Sandbox::settle_confinement() {
  for (const bool forbid : {true, false}) {
    forbid_user_namespaces_ = forbid;
    std::vector<std::string> attempt = confinement({});
    append(attempt, {"--", interpreter_.executable, "-S", "-c", "pass"});
    try {
      drift::output_of({.arguments = attempt, .environment = drift::kPlainEnvironment});
      return;
    } catch (const drift::Error& error) {
      if (!forbid) throw drift::Error(std::string("the sandbox cannot start: ") + error.what(), kHowToAllow);
    }
  }
}

/// A short program that holds `text` compiled: reading a long text takes an interpreter some milliseconds each time.
std::string Sandbox::compiled(const std::string& text) const {
  constexpr const char* kCompile = R"(
import base64, marshal, sys, zlib
code = zlib.compress(marshal.dumps(compile(sys.argv[1], '<string>', 'exec', optimize=2)), 9)
print('import binascii, marshal, zlib')
print('exec(marshal.loads(zlib.decompress(binascii.a2b_base64("' + base64.b64encode(code).decode() + '"))))')
)";
  const std::lock_guard lock(mutex_);
  std::string& result = compiled_texts_[text];
  if (result.empty()) {
    result = drift::output_of({.arguments = {interpreter_.executable, "-I", "-S", "-B", "-c", kCompile, text},
                               .environment = drift::kPlainEnvironment});
  }
  return result;
}

ChildCommand Sandbox::command(const SandboxedProgram& program) const {
  if (program.text.size() > kMaxText || program.text.find('\0') != std::string::npos) {
    throw drift::Error("a program for the sandbox must be at most " + std::to_string(kMaxText) + " bytes without NUL",
                       "send longer texts through its descriptor 3");
  }
  ChildCommand command;
  command.arguments = limits(program.limits);
  if (!options_.unsafe) {
    for (auto& argument : confinement(program)) command.arguments.push_back(std::move(argument));
    append(command.arguments, {"--seccomp", std::to_string(kFilter), "--info-fd", std::to_string(kInformation)});
    append(command.arguments, {"--block-fd", std::to_string(kGo), "--"});
  }
  // -s -P: neither the user's modules nor the working directory's; -I would also ignore PYTHONHASHSEED. -S: no site
  // packages. -B: no byte code is written.
  append(command.arguments, {interpreter_.executable, "-s", "-P", "-S", "-B", "-X", "utf8", "-c"});
  command.arguments.push_back(program.compiled ? compiled(program.text) : program.text);
  if (program.forks && !options_.unsafe) command.arguments.push_back(filter_of_copies_);
  command.environment = {"PATH=/usr/bin", "LANG=C", "PYTHONHASHSEED=0", "OMP_NUM_THREADS=1"};
  if (!interpreter_.packages.empty()) command.environment.push_back("PYTHONPATH=" + interpreter_.packages);
  // Else each thread reserves memory of its own, up to the limit.
  if (options_.threads) command.environment.push_back("MALLOC_ARENA_MAX=1");
  return command;
}

Sandbox::Sandbox(const SandboxOptions& options) : options_(options), prlimit_(required("prlimit", "util-linux")) {
  if (!options_.unsafe) {
    bwrap_ = required("bwrap", "bubblewrap");
    filter_ = system_call_filter(options_.threads, /*forks=*/false);
    forking_filter_ = system_call_filter(options_.threads, /*forks=*/true);
    filter_of_copies_ = boost::algorithm::hex(process_filter());
  }
  interpreter_ = find_interpreter(options_.python, options_.packages);
  if (!options_.unsafe) settle_confinement();
}

std::string Sandbox::description() const {
  const std::string python = "Python " + interpreter_.version + " (" + interpreter_.executable + ")";
  return options_.unsafe ? python + ", not confined: unsafe" : python + " in bubblewrap";
}

namespace {

/// The process that bubblewrap says it has made; -1 if it ends, or half a minute passes, without one.
pid_t await_process(const Descriptor& information) {
  std::string text;
  pollfd wanted{information.get(), POLLIN, 0};
  while (::poll(&wanted, 1, kStartMilliseconds) != 0) {
    char buffer[512];
    const ssize_t got = ::read(information.get(), buffer, sizeof buffer);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    if (const pid_t id = told_process(text); id > 0) return id;
  }
  return -1;
}

/// A new folder for a program that is not confined.
std::string temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "drift-program-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw drift::Error("cannot make a folder " + name + ": " + std::generic_category().message(errno));
  }
  return name;
}

}  // namespace

SandboxedProcess Sandbox::start(const SandboxedProgram& program) const {
  return SandboxedProcess(command(program), program, !options_.unsafe, program.forks ? forking_filter_ : filter_);
}

SandboxedProcess::SandboxedProcess(ChildCommand command, const SandboxedProgram& program, bool confined,
                                   const std::string& filter_rules)
    : SandboxedProcess() {
  confined_ = confined;
  Pipe in = drift::make_pipe();
  Pipe out = drift::make_pipe();
  command.descriptors = {{in.read.get(), kToProgram}, {out.write.get(), kFromProgram}};
  Descriptor input, input_file;
  if (!program.standard_input.empty()) {
    input = drift::sealed_file(program.standard_input);
    command.descriptors.emplace_back(input.get(), 0);
    if (confined_) {
      input_file = drift::sealed_file(program.standard_input);
      command.descriptors.emplace_back(input_file.get(), kInputFile);
    }
  }
  Pipe output;
  if (program.capture_output) {
    output = drift::make_pipe();
    command.descriptors.emplace_back(output.write.get(), 1);
    drift::set_nonblocking(output.read);
  }
  Descriptor filter;
  Pipe information;
  Pipe go;
  if (confined_) {
    filter = drift::sealed_file(filter_rules);
    information = drift::make_pipe();
    command.descriptors.emplace_back(filter.get(), kFilter);
    command.descriptors.emplace_back(information.write.get(), kInformation);
    go = drift::make_pipe();
    command.descriptors.emplace_back(go.read.get(), kGo);
  } else {
    command.folder = folder_ = temporary_folder();
  }
  child_ = ChildProcess(command);
  information.write.close();
  program_ = confined_ ? await_process(information.read) : child_.id();
  // The process waits until we hold it: a short program on a busy machine would have ended, and its number be
  // another's.
  if (program_ > 0) handle_ = drift::open_process(program_);
  go.write.close();
  if (!handle_) {
    throw drift::Error(
        "a program could not be started, although others were: the machine may be out of memory or processes");
  }
  to_program_ = std::move(in.write);
  from_program_ = std::move(out.read);
  output_ = std::move(output.read);
  drift::set_nonblocking(to_program_);
  drift::set_nonblocking(from_program_);
}

}  // namespace drift::code
