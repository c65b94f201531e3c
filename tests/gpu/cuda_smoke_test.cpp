// The same program with --device cuda: it trains, and greedy evaluation gives what the CPU gives.

#include <core/base/device.h>

#include <drift/error.h>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/support.h"

namespace drift::cuda_smoke_test {
namespace {

/// Why there is no GPU to test on; empty if there is one.
std::string no_gpu() {
  try {
    run_device("cuda");
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

nlohmann::json last_line(const std::filesystem::path& metrics) {
  const auto text = test::read_file(metrics);
  return nlohmann::json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
}

TEST(Cuda, TrainsLikeTheCpu) {
  const auto reason = no_gpu();
  if (!reason.empty()) GTEST_SKIP() << reason;
  const test::TemporaryFolder folder;
  for (const std::string device : {"cpu", "cuda"}) {
    const auto result = test::run_command(
        test::program().string() + " train " + (test::source_dir() / "configs/quickstart.toml").string() +
        " --device " + device + " --steps 2 --set evaluation.items=100 --out " + (folder.path() / device).string());
    ASSERT_EQ(result.status, 0) << result.error;
  }
  const auto cpu = last_line(folder.path() / "cpu/metrics.jsonl"),
             cuda = last_line(folder.path() / "cuda/metrics.jsonl");
  EXPECT_EQ(cuda["step"], 2);
  EXPECT_FALSE(cuda["skipped"].get<bool>());
  // Rounding differs, and a draw on the edge may fall the other way.
  EXPECT_NEAR(cuda["reward"].get<double>(), cpu["reward"].get<double>(), 0.05);
  EXPECT_NEAR(cuda["held_out"]["accuracy"].get<double>(), cpu["held_out"]["accuracy"].get<double>(), 0.05);
}

// Plans were measured on CPUs.
TEST(Cuda, ARunThatMayNotFitIsWarnedOf) {
  const auto reason = no_gpu();
  if (!reason.empty()) GTEST_SKIP() << reason;
  const test::TemporaryFolder folder;
  const auto result = test::run_command(
      test::program().string() + " train " + (test::source_dir() / "configs/quickstart.toml").string() +
      " --device cuda --steps 1 --set evaluation.items=4 --set run.memory_gib=0.01 --out " +
      (folder.path() / "run").string());
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_NE((result.output + result.error).find("warning: this run may not fit: "), std::string::npos);
}

}  // namespace
}  // namespace drift::cuda_smoke_test
