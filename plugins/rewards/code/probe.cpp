#include "sandbox.h"

#include <drift/error.h>

#include <exception>
#include <string>

namespace drift::code {
namespace {

// One attack a line: what it is, and Python that does it and raises nothing if it did harm. Each is a row of the list
// of threats (docs/robustness.md); the endless loop and the fork come last, for they end the program if they are not
// stopped.
constexpr const char* kAttacks = R"(
import os, sys
def harm(name, attack):
    try: attack()
    except (OSError, MemoryError, ValueError): return
    os.write(4, name.encode() + b'\n')
def large_file():
    with open('/tmp/large', 'wb') as file:
        for _ in range(64): file.write(bytes(1 << 20)); file.flush()
def network():
    import socket
    socket.socket().close()
harm('allocating 4 GiB', lambda: bytearray(4 << 30))
harm('writing a file of 64 MiB', large_file)
for folder in ['/', '/usr', os.path.dirname(os.__file__), os.path.dirname(sys.executable)]:
    harm('writing to ' + folder, lambda: open(folder + '/drift-sandbox-probe', 'w').close())
harm('removing a file outside', lambda: os.unlink(os.__file__))
harm('opening a socket', network)
harm('sending a signal', lambda: os.kill(os.getppid(), 0))
def fork():
    if os.fork() == 0: os._exit(0)
harm('starting a process', fork)
os.write(4, b'done\n')
while True: pass
)";

constexpr const char* kHint = "do not run untrusted programs on this machine; docs/robustness.md says what is needed";

SandboxAvailability attack(const Sandbox& sandbox) {
  SandboxedProgram program{.text = kAttacks};
  program.limits.cpu_seconds = 10;
  SandboxedProcess process = sandbox.start(program);
  const Deadline until = process.deadline(5);
  std::string found;
  ReadStatus status = ReadStatus::kData;
  while (status == ReadStatus::kData && !found.ends_with("done\n")) status = process.receive(found, 4096, until);
  if (!found.ends_with("done\n")) {
    const ProcessEnd end = process.stop();
    return {false,
            "a program in the sandbox ended early, with status " + std::to_string(end.code) + ", signal " +
                std::to_string(end.signal),
            kHint};
  }
  found.resize(found.size() - 5);
  if (!found.empty()) {
    for (auto& letter : found) letter = letter == '\n' ? ',' : letter;
    found.pop_back();
    return {false, "programs in the sandbox can do harm: " + found, kHint};
  }
  std::string more;
  if (process.receive(more, 16, process.deadline(0.05)) != ReadStatus::kCpuLimit || process.stop().signal == 0) {
    return {false, "an endless loop in the sandbox is not stopped", kHint};
  }
  return {true, sandbox.description(), {}};
}

}  // namespace

SandboxAvailability probe_sandbox(const SandboxOptions& options) {
  try {
    return attack(Sandbox(options));
  } catch (const drift::Error& error) {
    return {false, error.what(), error.hint().empty() ? kHint : error.hint()};
  } catch (const std::exception& error) {
    return {false, error.what(), kHint};
  }
}

}  // namespace drift::code
