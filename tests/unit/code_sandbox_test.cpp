#include <gmock/gmock.h>

#include <string>

#include "sandbox.h"

namespace code_reward {
namespace {

TEST(Sandbox, APythonProgramReadsAndWritesFrames) {
  Sandbox sandbox({});
  auto process = sandbox.start({.text = "import os\nos.write(4, os.read(3, 100).upper())"});
  const Deadline until = process.deadline(2);
  EXPECT_TRUE(process.send("hello", until));
  std::string reply;
  while (process.receive(reply, 100, until) == ReadStatus::kData) {
  }
  EXPECT_EQ(reply, "HELLO");
  const auto end = process.stop();
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.signal, 0);
}

TEST(Sandbox, IsTriedForReal) {
  const auto availability = probe_sandbox();
  EXPECT_TRUE(availability.works) << availability.why << ": " << availability.hint;
}

}  // namespace
}  // namespace code_reward
