#include <core/io/checksum.h>

#include <core/io/atomic.h>

#include <openssl/evp.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <memory>

namespace drift {
namespace {

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, value);
  return text.data();
}

}  // namespace

std::string checksum(std::string_view bytes) { return hexadecimal(XXH3_64bits(bytes.data(), bytes.size())); }

std::string file_checksum(const std::filesystem::path& path) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for_each_piece(path, [&](std::string_view piece) {
    XXH3_64bits_update(state.get(), piece.data(), piece.size());
    return true;
  });
  return hexadecimal(XXH3_64bits_digest(state.get()));
}

std::string sha256_of_file(const std::filesystem::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
  for_each_piece(
      file, [&](std::string_view piece) { return EVP_DigestUpdate(digest.get(), piece.data(), piece.size()) == 1; });
  std::array<unsigned char, 32> sum{};
  EVP_DigestFinal_ex(digest.get(), sum.data(), nullptr);
  std::string text;
  for (const unsigned char byte : sum) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return text;
}

}  // namespace drift
