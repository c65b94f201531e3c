// What starts, feeds, limits and stops Python programs. What hostile programs try: code_attacks_test.cpp.

#include <core/base/plain_threads.h>

#include <gmock/gmock.h>

#include <drift/error.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sandbox.h"
#include "tests/support/child.h"
#include "tests/support/sandboxed.h"

namespace drift::code::code_sandbox_test {
namespace {

using drift::test::Belongings;
using drift::test::told;
using testing::HasSubstr;

using CodeSandbox = drift::test::InSandbox;

std::string all_output(SandboxedProcess& process, const Deadline& until) {
  std::string text;
  while (process.read_output(text, 4096, until) == ReadStatus::kData) {
  }
  return text;
}

TEST_F(CodeSandbox, IsTriedForReal) {
  const auto availability = probe_sandbox();
  EXPECT_TRUE(availability.works);
  EXPECT_THAT(availability.why, HasSubstr("Python 3."));
  EXPECT_EQ(availability.hint, "");
}

TEST_F(CodeSandbox, BytesGoInAndOutThroughTwoDescriptors) {
  auto process = sandbox().start({.text = "import os\nwhile data := os.read(3, 65536): os.write(4, data.upper())"});
  const Deadline until = process.deadline(2, 60);
  std::string reply;
  for (const std::string sent : {"one", "two"}) {
    EXPECT_TRUE(process.send(sent, until));
    reply.clear();
    EXPECT_EQ(process.receive(reply, 100, until), ReadStatus::kData);
    EXPECT_THAT(reply, testing::AnyOf("ONE", "TWO"));
  }
  process.close_send();
  EXPECT_EQ(process.receive(reply, 100, until), ReadStatus::kClosed);
  EXPECT_EQ(process.wait(until), ReadStatus::kClosed);
  const ProcessEnd end = process.stop();
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.signal, 0);
}

TEST_F(CodeSandbox, OutputIsCapturedAndInputIsAFile) {
  std::string numbers;
  for (int i = 0; i < 100'000; ++i) numbers += std::to_string(i) + "\n";  // many times what a pipe holds
  auto process = sandbox().start({.text = "import sys\nfor line in sys.stdin: print(int(line) + 1)",
                                  .standard_input = numbers,
                                  .capture_output = true});
  const Deadline until = process.deadline(5, 60);
  EXPECT_EQ(all_output(process, until), numbers.substr(2) + "100000\n");
  process.wait(until);
  EXPECT_EQ(process.stop().code, 0);
}

TEST_F(CodeSandbox, StandardErrorAndUncapturedOutputAreDropped) {
  EXPECT_EQ(told(sandbox(), R"(
import sys
for stream in sys.stdout, sys.stderr:
    for _ in range(1000): print('x' * 1000, file=stream)
tell('still here'))")
                .text,
            "still here\n");
}

TEST_F(CodeSandbox, ExitCodesPassThrough) {
  auto process = sandbox().start({.text = "import sys\nsys.exit(7)"});
  EXPECT_EQ(process.wait(process.deadline(2, 60)), ReadStatus::kClosed);
  EXPECT_EQ(process.stop().code, 7);
}

TEST_F(CodeSandbox, ProcessorTimeEndsALoopAndTheWallClockASleep) {
  const auto loop = told(sandbox(), "while True: pass", {}, {.cpu_seconds = 0.2});
  EXPECT_EQ(loop.status, ReadStatus::kCpuLimit);
  EXPECT_TRUE(loop.end.stopped);
  EXPECT_EQ(loop.end.signal, SIGKILL);
  EXPECT_GE(loop.end.cpu_seconds, 0.2);
  const auto sleep = told(sandbox(), "import time; time.sleep(1000)", {}, {.wall_seconds = 0.3});
  EXPECT_EQ(sleep.status, ReadStatus::kWallLimit);
  EXPECT_LT(sleep.end.cpu_seconds, 1);
}

TEST_F(CodeSandbox, TheKernelEndsAnUnwatchedLoop) {
  auto process = sandbox().start({.text = "while True: pass", .limits = {.cpu_seconds = 1}});
  EXPECT_EQ(process.wait(process.deadline(100, 100)), ReadStatus::kClosed);
  const ProcessEnd end = process.stop();
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(end.signal, SIGKILL);
}

// A reply that took too much processor time is late, even if this side looks only afterwards.
TEST_F(CodeSandbox, LateOutputIsIgnored) {
  auto process = sandbox().start({.text = R"(
import os, time
while time.process_time() < 0.5: pass
os.write(4, b'late')
os.read(3, 1))"});
  const Deadline until = process.deadline(0.2, 60);
  EXPECT_EQ(process.wait(process.deadline(10, 1)), ReadStatus::kWallLimit);
  std::string reply;
  EXPECT_EQ(process.receive(reply, 100, until), ReadStatus::kCpuLimit);
  EXPECT_EQ(reply, "");
}

// Its wall clock is paused while others have the processors.
TEST_F(CodeSandbox, ABusyMachineEndsNoHonestProgram) {
  std::vector<std::unique_ptr<SandboxedProcess>> others;
  for (std::size_t i = 0; i < std::min<std::size_t>(64, 4 * drift::processor_cores()); ++i) {
    others.emplace_back(new SandboxedProcess(sandbox().start({.text = "while True: pass"})));
  }
  auto honest = sandbox().start({.text = R"(
import os, time
os.write(4, b'r')
os.read(3, 1)
start = time.process_time()
while time.process_time() < start + 0.2: pass
os.write(4, b'done'))"});
  std::string reply;
  EXPECT_EQ(honest.receive(reply, 1, honest.deadline(2, 60)), ReadStatus::kData);
  const Deadline until = honest.deadline(1, 0.5);
  EXPECT_TRUE(honest.send("g", until));
  EXPECT_EQ(honest.receive(reply, 4, until), ReadStatus::kData);
  EXPECT_EQ(reply, "rdone");
}

TEST_F(CodeSandbox, SendingToOneThatDoesNotReadOrHasEndedSaysSo) {
  auto deaf = sandbox().start({.text = "import time; time.sleep(1000)"});
  EXPECT_FALSE(deaf.send(std::string(1 << 20, 'x'), deaf.deadline(5, 0.5)));
  auto gone = sandbox().start({.text = "pass"});
  EXPECT_EQ(gone.wait(gone.deadline(2, 60)), ReadStatus::kClosed);
  EXPECT_FALSE(gone.send("anyone?", gone.deadline(1)));  // and no SIGPIPE ends this test
}

TEST_F(CodeSandbox, EachReadIsBounded) {
  auto process = sandbox().start({.text = "import os\nwhile True: os.write(4, b'x' * 65536)"});
  std::string reply;
  EXPECT_EQ(process.receive(reply, 1000, process.deadline(2, 60)), ReadStatus::kData);
  EXPECT_LE(reply.size(), 1000U);
}

TEST_F(CodeSandbox, TheHashSeedIsFixed) {
  const std::string program = "tell([hash('a'), list({'x', 'y', 'z'})])";
  EXPECT_EQ(told(sandbox(), program).text, told(sandbox(), program).text);
}

TEST_F(CodeSandbox, CommonModulesAreThere) {
  EXPECT_EQ(told(sandbox(), R"(
for name in ('bisect collections copy ctypes datetime decimal fractions functools hashlib heapq itertools json math '
             'operator random re sqlite3 statistics string sys threading time typing unicodedata zlib').split():
    if attempt(__import__, name) != 'done': tell(name)
import datetime, random, time
time.sleep(0.001)
tell(datetime.datetime.now().year > 2000, random.random() < 1))")
                .text,
            "True True\n");
}

TEST_F(CodeSandbox, NoFilesCanBeWritten) {
  const std::string program =
      "import tempfile\ntell(attempt(open, 'file', 'w'), attempt(tempfile.TemporaryFile), os.getcwd())";
  EXPECT_EQ(told(sandbox(), program).text, "OSError FileNotFoundError /tmp\n");
}

TEST_F(CodeSandbox, ThreadsAreThereWhereTheyAreWanted) {
  const std::string program = R"(
import threading
threads = [threading.Thread(target=lambda: tell('hello')) for _ in range(2)]
tell(*[attempt(thread.start) for thread in threads]))";
  EXPECT_EQ(told(sandbox(), program).text, "RuntimeError RuntimeError\n");
  EXPECT_THAT(told(Sandbox({.threads = true}), program).text, HasSubstr("done done"));
}

TEST_F(CodeSandbox, StoppingTwiceTellsTheSame) {
  auto process = sandbox().start({.text = "import time; time.sleep(1000)"});
  EXPECT_TRUE(process.stop().stopped);
  EXPECT_TRUE(process.stop().stopped);
  std::string reply;
  EXPECT_EQ(process.receive(reply, 10, process.deadline(1)), ReadStatus::kClosed);
}

// More programs than cores, each of which ends immediately: before the thread that started it runs again.
TEST_F(CodeSandbox, SeveralThreadsStartProgramsConcurrently) {
  std::vector<std::string> answers(100);
  drift::for_each_at_once(
      answers.size(), [&](std::size_t i) { answers[i] = told(sandbox(), "tell(6 * 7)").text; }, /*threads=*/4);
  EXPECT_THAT(answers, testing::Each("42\n"));
}

// Whatever ends this process, its programs end too: here one that would sleep for ever, in a child that just goes.
TEST_F(CodeSandbox, ProgramsDieWithTheProcessThatStartedThem) {
  drift::test::in_child([] {
    auto* const left =
        new SandboxedProcess(sandbox().start({.text = "import os, time\nos.write(4, b'here')\ntime.sleep(1000)"}));
    std::string reply;
    left->receive(reply, 4, left->deadline(5, 60));
    return reply;
  });
  while (::waitpid(-1, nullptr, 0) > 0) {  // the orphan: ends immediately, or this test never does
  }
}

TEST_F(CodeSandbox, ProgramsTooLongOrWithNulAreRefused) {
  EXPECT_THROW(sandbox().start({.text = std::string(200'000, '#')}), drift::Error);
  EXPECT_THROW(sandbox().start({.text = std::string("pass\0pass", 9)}), drift::Error);
}

TEST(CodeSandboxElsewhere, AMissingInterpreterIsAnError) {
  EXPECT_THROW(Sandbox({.python = "/nowhere/python3"}), drift::Error);
  const auto availability = probe_sandbox({.python = "/nowhere/python3"});
  EXPECT_FALSE(availability.works);
  EXPECT_THAT(availability.why, HasSubstr("/nowhere/python3"));
  EXPECT_NE(availability.hint, "");
}

TEST(CodeSandboxElsewhere, WithoutProtectionThereAreStillLimits) {
  const auto before = Belongings::now();
  const Sandbox unsafe({.unsafe = true});
  EXPECT_THAT(unsafe.description(), HasSubstr("unsafe"));
  EXPECT_EQ(told(unsafe, "tell(attempt(bytearray, 4 << 30), 6 * 7)").text, "MemoryError 42\n");
  EXPECT_EQ(told(unsafe, "while True: pass", {}, {.cpu_seconds = 0.2}).status, ReadStatus::kCpuLimit);
  EXPECT_EQ(told(unsafe,
                 "def fill():\n    with open('large', 'wb') as file:\n        while True: file.write(bytes(1 << 16))\n"
                 "tell(attempt(fill), os.stat('large').st_size, attempt(os.truncate, 'large', 1 << 40))")
                .text,
            "OSError 1048576 OSError\n");
  const std::string parent = "open('file', 'w')\nif os.fork() == 0:\n    import time\n    time.sleep(1000)";
  EXPECT_EQ(told(unsafe, parent, {}, {.wall_seconds = 0.5}).end.code, 0);
  while (::waitpid(-1, nullptr, 0) > 0) {  // the killed grandchild, an orphan
  }
  EXPECT_TRUE(Belongings::now() == before);
}

TEST(CodeSandboxElsewhere, TheProbeTellsWhenTheKernelForbidsIt) {
  const std::string told = drift::test::in_child([] {
    if (::unshare(CLONE_NEWUSER) != 0) return std::string("cannot try");
    std::ofstream("/proc/sys/user/max_user_namespaces") << 0;
    const auto availability = probe_sandbox();
    return availability.works ? std::string("works") : availability.why;
  });
  if (told == "cannot try") GTEST_SKIP() << "user namespaces cannot be made, so they cannot be forbidden";
  EXPECT_THAT(told, HasSubstr("bwrap: "));
}

}  // namespace
}  // namespace drift::code::code_sandbox_test
