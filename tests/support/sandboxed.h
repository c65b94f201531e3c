#pragma once

// Python programs in the sandbox of the code reward that tell what happened to them, and a look at what they leave
// behind.

#include <gmock/gmock.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sandbox.h"
#include "tests/support/support.h"

namespace drift::test {

/// `tell(words…)` writes a line; `attempt(action)` is "done" or the name of the exception.
inline constexpr const char* kPrologue = R"(
import os
def tell(*words): os.write(4, (' '.join(map(str, words)) + '\n').encode())
def attempt(action, *arguments):
    try: action(*arguments)
    except BaseException as error: return type(error).__name__
    return 'done'
)";

/// A program's output, why waiting for more ended, and how the program ended.
struct Told {
  std::string text;
  code::ReadStatus status = code::ReadStatus::kData;
  code::ProcessEnd end;
};

struct Patience {
  double cpu_seconds = 2;
  double wall_seconds = 60;  ///< long: the machine may be busy
  std::size_t bytes = 1 << 20;
};

inline Told told(const code::Sandbox& sandbox, const std::string& program, const code::SandboxLimits& limits = {},
                 const Patience& patience = {}) {
  auto process = sandbox.start({.text = kPrologue + program, .limits = limits});
  const auto until = process.deadline(patience.cpu_seconds, patience.wall_seconds);
  Told result;
  while (result.status == code::ReadStatus::kData && result.text.size() < patience.bytes) {
    result.status = process.receive(result.text, patience.bytes - result.text.size(), until);
  }
  // A program that has closed its descriptors is about to end; any other is stopped.
  if (result.status == code::ReadStatus::kClosed) process.wait(until);
  result.end = process.stop();
  return result;
}

/// The folder for temporary files of this process alone: what another Drift leaves there for a moment is its own
/// affair.
inline const std::filesystem::path& own_temporary_folder() {
  static const TemporaryFolder folder;
  static const bool used = ::setenv("TMPDIR", folder.path().c_str(), 1) == 0;
  if (!used) throw std::runtime_error("TMPDIR cannot be set");
  return folder.path();
}

/// Possible leftovers of programs that this process started. Orphans become children of this process, so they are seen.
struct Belongings {
  std::size_t descriptors = 0;
  std::set<std::string> files;
  std::vector<std::string> mounts;  ///< below the folder for temporary files
  bool children = false;

  bool operator==(const Belongings&) const = default;

  static Belongings now() {
    namespace fs = std::filesystem;
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const fs::path& folder = own_temporary_folder();
    Belongings found;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++found.descriptors;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) found.files.insert(entry.path());
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
      if (line.find(folder.string()) != std::string::npos) found.mounts.push_back(line);
    }
    found.children = ::waitpid(-1, nullptr, WNOHANG) >= 0;
    return found;
  }
};

/// Skips if the machine cannot start a sandbox, and fails a test that leaves something.
class InSandbox : public testing::Test {
 protected:
  void SetUp() override {
    static const code::SandboxAvailability availability = code::probe_sandbox();
    if (!availability.works) GTEST_SKIP() << availability.why << "; " << availability.hint;
    before_ = Belongings::now();
  }

  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_TRUE(Belongings::now() == before_) << "processes, files, mounts or descriptors are left";
  }

  static const code::Sandbox& sandbox() {
    static const code::Sandbox instance{{}};
    return instance;
  }

 private:
  Belongings before_;
};

}  // namespace drift::test
