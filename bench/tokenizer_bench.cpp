// Opens a tokenizer, encodes a text once, and prints what each took as one JSON object: what tokenizer_speed.py
// compares with the `tokenizers` package.

#include <core/text/tokenizer.h>

#include <drift/error.h>
#include <drift/export.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw drift::Error(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void measure(const char* tokenizer_path, const char* text_path) {
  const std::string text = read(text_path);
  const auto start = std::chrono::steady_clock::now();
  const auto tokenizer = drift::Tokenizer::open(tokenizer_path);
  const double open = seconds_since(start);
  const auto ids = tokenizer.encode(text);
  const double both = seconds_since(start);
  std::uint32_t checksum = 0;
  for (const std::int64_t id : ids) checksum = checksum * 31 + static_cast<std::uint32_t>(id);
  std::cout << nlohmann::json{{"open", open}, {"encode", both - open}, {"ids", ids.size()}, {"checksum", checksum}}
            << "\n";
}

}  // namespace

DRIFT_API int main(int argc, char** argv) {
  try {
    if (argc != 3) throw drift::Error("usage: tokenizer_bench TOKENIZER TEXT_FILE");
    measure(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
