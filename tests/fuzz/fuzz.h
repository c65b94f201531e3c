#pragma once

#include <drift/error.h>

#include <unistd.h>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

// A target, DRIFT_FUZZ_TARGET(NAME) { ... }, takes any bytes: `size` of them at `data`. It may refuse them by a
// drift::Error; a crash, a report of a sanitizer, any other exception or a broken requirement is a finding. Linked with
// libFuzzer it searches (tests/fuzz/run); in corpora_tests it takes what was found before.
#ifdef DRIFT_FUZZ
#define DRIFT_FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#include <gtest/gtest.h>

namespace drift::fuzz {

using Target = int (*)(const std::uint8_t* data, std::size_t size);

/// Gives the target every input that is kept in corpus/NAME. Without a crash or a report of a sanitizer the test
/// passes.
void replay(const char* name, Target target);

}  // namespace drift::fuzz

#define DRIFT_FUZZ_TARGET(name)                                                                         \
  int name##_target(const std::uint8_t* data, std::size_t size);                                        \
  TEST(name##_corpus, NoInputThatWasFoundBeforeDoesHarm) { drift::fuzz::replay(#name, name##_target); } \
  TEST(name##_corpus, NothingAtAllDoesNoHarm) { EXPECT_EQ(name##_target(nullptr, 0), 0); }              \
  int name##_target(const std::uint8_t* data, std::size_t size)
#endif

// libFuzzer's own changes, for targets that add theirs. Not there when a corpus is replayed.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t max_size);

namespace drift::fuzz {

/// What must hold of every input that is not refused.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Whether the action went through; an Error is a refusal.
template <class Action>
bool accepted(Action action) {
  try {
    action();
    return true;
  } catch (const drift::Error&) {
    return false;
  }
}

/// Of this process alone.
inline std::string temporary_file(const char* ending) {
  return std::filesystem::temp_directory_path() / ("drift-fuzz-" + std::to_string(::getpid()) + ending);
}

}  // namespace drift::fuzz
