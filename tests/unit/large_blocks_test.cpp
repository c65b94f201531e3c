// Memory of large tensors: given out again, joined, and never more than was in use at a time.

#include "tests/support/support.h"

#include <core/base/large_blocks.h>
#include <core/base/memory.h>

#include <cstring>
#include <thread>

namespace drift::large_blocks_test {

constexpr std::size_t kMiB = 1 << 20;

/// So that the system has to provide its pages.
void* taken_and_written(LargeBlocks& blocks, std::size_t bytes) {
  void* block = blocks.take(bytes);
  std::memset(block, 1, bytes);
  return block;
}

TEST(LargeBlocks, AFreedBlockIsGivenOutAgain) {
  LargeBlocks blocks;
  void* first = blocks.take(8 * kMiB);
  blocks.give_back(first);
  EXPECT_EQ(blocks.bytes().kept, 8 * kMiB);
  EXPECT_EQ(blocks.take(8 * kMiB), first);
  EXPECT_EQ(blocks.bytes().kept, 0u);
  blocks.give_back(first);
}

TEST(LargeBlocks, ASmallerOneTakesThePartOfAKeptBlock) {
  LargeBlocks blocks;
  auto* whole = static_cast<char*>(blocks.take(8 * kMiB));
  blocks.give_back(whole);
  EXPECT_EQ(blocks.take(3 * kMiB), whole);
  EXPECT_EQ(blocks.take(5 * kMiB), whole + 3 * kMiB);
  blocks.give_back(whole);
  blocks.give_back(whole + 3 * kMiB);
}

TEST(LargeBlocks, FreeNeighboursAreOneBlock) {
  LargeBlocks blocks;
  auto* whole = static_cast<char*>(blocks.take(9 * kMiB));
  blocks.give_back(whole);
  char* parts[3];
  for (char*& part : parts) part = static_cast<char*>(blocks.take(3 * kMiB));
  for (const int order : {0, 2, 1}) blocks.give_back(parts[order]);
  EXPECT_EQ(blocks.take(9 * kMiB), whole);
  blocks.give_back(whole);
}

TEST(LargeBlocks, TheSmallestThatIsLargeEnoughIsTaken) {
  LargeBlocks blocks;
  auto* whole = static_cast<char*>(blocks.take(25 * kMiB));
  blocks.give_back(whole);
  auto* large = static_cast<char*>(blocks.take(20 * kMiB));
  auto* between = static_cast<char*>(blocks.take(kMiB));
  auto* small = static_cast<char*>(blocks.take(4 * kMiB));
  blocks.give_back(large);
  blocks.give_back(small);
  EXPECT_EQ(blocks.take(4 * kMiB), small);
  blocks.give_back(small);
  blocks.give_back(between);
}

TEST(LargeBlocks, WhatIsKeptAndInUseIsNeverMoreThanTheMostInUse) {
  LargeBlocks blocks;
  // Each size is larger than all that is kept of the last ones.
  for (std::size_t size = 1; size <= 64; ++size) {
    blocks.give_back(blocks.take(size * kMiB));
    const auto bytes = blocks.bytes();
    EXPECT_LE(bytes.in_use + bytes.kept, bytes.most);
    EXPECT_EQ(bytes.most, size * kMiB);
  }
}

TEST(LargeBlocks, WhatDoesNotFitGoesBackToTheSystem) {
  LargeBlocks blocks;
  const auto before = resident_memory();
  std::vector<void*> small;
  for (int i = 0; i < 64; ++i) small.push_back(taken_and_written(blocks, 2 * kMiB));
  // Every second one, so that no free block is larger than 2 MiB.
  for (std::size_t i = 0; i < small.size(); i += 2) blocks.give_back(small[i]);
  for (int i = 0; i < 16; ++i) small.push_back(taken_and_written(blocks, 4 * kMiB));
  EXPECT_EQ(blocks.bytes().most, 128 * kMiB);
  EXPECT_LT(resident_memory() - before, static_cast<std::int64_t>(136 * kMiB));
  for (std::size_t i = 0; i < small.size(); ++i) {
    if (i >= 64 || i % 2 == 1) blocks.give_back(small[i]);
  }
}

TEST(LargeBlocks, BlocksOfManyThreadsDoNotOverlap) {
  LargeBlocks blocks;
  const auto work = [&](unsigned char mark) {
    std::vector<std::pair<unsigned char*, std::size_t>> own;
    std::uint32_t state = mark;
    for (int i = 0; i < 400; ++i) {
      state = state * 1664525 + 1013904223;
      const std::size_t size = 1 + (state >> 8) % (256 << 10);
      if (state >> 31 && !own.empty()) {
        const auto [at, length] = own.back();
        own.pop_back();
        for (const std::size_t place : {std::size_t{0}, length / 2, length - 1}) ASSERT_EQ(at[place], mark);
        blocks.give_back(at);
      } else {
        own.emplace_back(static_cast<unsigned char*>(blocks.take(size)), size);
        std::memset(own.back().first, mark, size);
      }
    }
    for (const auto& [at, length] : own) {
      EXPECT_EQ(at[length - 1], mark);
      blocks.give_back(at);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned char mark = 1; mark <= 4; ++mark) threads.emplace_back(work, mark);
  for (std::thread& thread : threads) thread.join();
  const auto bytes = blocks.bytes();
  EXPECT_EQ(bytes.in_use, 0u);
  EXPECT_LE(bytes.kept, bytes.most);
}

TEST(LargeBlocks, KnowsItsOwnBlocks) {
  LargeBlocks blocks, others;
  void* block = blocks.take(kMiB);
  EXPECT_FALSE(others.give_back(block));
  EXPECT_FALSE(blocks.give_back(static_cast<char*>(block) + 64));
  EXPECT_TRUE(blocks.give_back(block));
  EXPECT_FALSE(blocks.give_back(block));
}

TEST(LargeBlocks, MoreThanTheSystemHasIsNull) {
  LargeBlocks blocks;
  EXPECT_EQ(blocks.take(std::size_t{1} << 60), nullptr);
  EXPECT_EQ(blocks.bytes().in_use, 0u);
}

}  // namespace drift::large_blocks_test
