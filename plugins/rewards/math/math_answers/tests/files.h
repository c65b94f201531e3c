#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace math_answers::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The folder of these tests.
inline std::filesystem::path folder() { return MATH_ANSWERS_TESTS; }

/// A file of a published data set; it may be missing.
inline std::filesystem::path data_file(const std::string& name) {
  const char* data = std::getenv("MATH_ANSWERS_DATA");
  return std::filesystem::path(data == nullptr ? "" : data) / name;
}

}  // namespace math_answers::test
