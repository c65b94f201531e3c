#include <tests/fuzz/fuzz.h>
#include <tests/support/support.h>

#include <filesystem>

namespace drift::fuzz {

void replay(const char* name, Target target) {
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "tests/fuzz/corpus" / name)) {
    SCOPED_TRACE(entry.path().filename());
    const std::string bytes = test::read_file(entry.path());
    EXPECT_EQ(target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0);
    ++inputs;
  }
  EXPECT_GT(inputs, 5);
}

}  // namespace drift::fuzz
