#pragma once

#include <filesystem>

namespace drift::test {

/// A checkpoint with the published vocabulary of a 7 B model, its special ids, and one block of 16 numbers a token,
/// random. Needs data_file("qwen/vocab.json") and data_file("qwen/merges.txt").
void write_real_vocabulary_model(const std::filesystem::path& folder);

}  // namespace drift::test
