// Takes every input that is kept in corpus/NAME, where the program is called NAME_fuzzer. Without a crash or a report
// of a sanitizer the test passes.

#include <tests/fuzz/fuzz.h>
#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <filesystem>

namespace drift {
namespace {

namespace fs = std::filesystem;

std::string corpus_name() {
  const std::string program = fs::read_symlink("/proc/self/exe").filename();
  return program.substr(0, program.rfind("_fuzzer"));
}

TEST(Corpus, NoInputThatWasFoundBeforeDoesHarm) {
  const fs::path folder = test::source_dir() / "tests/fuzz/corpus" / corpus_name();
  int inputs = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename());
    const std::string bytes = test::read_file(entry.path());
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0);
    ++inputs;
  }
  EXPECT_GT(inputs, 5);
}

TEST(Corpus, NothingAtAllDoesNoHarm) { EXPECT_EQ(LLVMFuzzerTestOneInput(nullptr, 0), 0); }

}  // namespace
}  // namespace drift
