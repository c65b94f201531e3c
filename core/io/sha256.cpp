#include <core/io/sha256.h>

#include <drift/error.h>

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <memory>

namespace drift {

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  bool whole = stream && EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
  for (std::array<char, 65536> part{}; whole && stream;) {
    stream.read(part.data(), part.size());
    whole = EVP_DigestUpdate(digest.get(), part.data(), static_cast<std::size_t>(stream.gcount())) == 1;
  }
  std::array<unsigned char, 32> sum{};
  if (!whole || stream.bad() || EVP_DigestFinal_ex(digest.get(), sum.data(), nullptr) != 1)
    throw Error("cannot read " + file.string());
  std::string text;
  for (const unsigned char byte : sum) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return text;
}

}  // namespace drift
