#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// A target defines LLVMFuzzerTestOneInput, which takes any bytes. It may refuse them by a drift::Error; a crash, a
// report of a sanitizer, any other exception or a broken requirement is a finding. Linked with libFuzzer it searches
// (tests/fuzz/run); linked with replay.cpp it is a test that takes what was found before.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// libFuzzer's own changes, for targets that add theirs. Not there when a corpus is replayed.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t max_size);

namespace drift::fuzz {

/// What must hold of every input that is not refused.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace drift::fuzz
