// Any tokenizer.json and any text: the text of a tokenizer.json, a NUL byte, and a text to encode with it.

#include <core/text/tokenizer.h>
#include <tests/fuzz/fuzz.h>

#include <algorithm>

namespace drift::tokenizer_fuzzer {
namespace {

using drift::fuzz::require;

void check_ids(const drift::Tokenizer& tokenizer, const std::vector<std::int64_t>& ids) {
  for (const std::int64_t id : ids) require(id >= 0 && id < tokenizer.vocabulary_size());
  for (const bool skip_special : {false, true}) {
    drift::StreamDecoder stream(tokenizer, skip_special);
    std::string streamed;
    for (const std::int64_t id : ids) streamed += stream.push(id);
    require(streamed + stream.flush() == tokenizer.decode(ids, skip_special));
  }
}

}  // namespace

DRIFT_FUZZ_TARGET(tokenizer) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(std::min(end + 1, input.size()));
  drift::fuzz::accepted([&] {
    const auto tokenizer = drift::Tokenizer::parse(input.substr(0, end), "input");
    const auto ids = tokenizer.encode(text);
    check_ids(tokenizer, ids);
    require(ids == tokenizer.encode(text));
  });
  return 0;
}

}  // namespace drift::tokenizer_fuzzer
