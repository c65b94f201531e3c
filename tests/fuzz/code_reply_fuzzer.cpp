// What a worker in the sandbox sends, any bytes, is a reply within its limits or is refused.

#include <plugins/rewards/code/wire.h>
#include <tests/fuzz/fuzz.h>

namespace drift::code_reply_fuzzer {
namespace {

using drift::code::kMaxValueBytes;
using drift::code::value_fault;
using drift::fuzz::require;

constexpr std::string_view kStamp = "0123456789abcdef";

// A value ends where it says, and may be in a list.
void check_value(std::string_view value) {
  require(!value.empty() && value.size() <= kMaxValueBytes);
  require(!value_fault(value.substr(0, value.size() - 1)).empty());
  const std::string more = std::string(value) + "N";
  require(more.size() > kMaxValueBytes || value_fault(more) == "has bytes after it");
  const std::string fault = value_fault(std::string("l\1\0\0\0", 5) + std::string(value));
  require(fault.empty() || fault == "is nested too deep" || fault == "has too many parts" ||
          fault == "is larger than 1 MiB");
}

void check_reply(std::string_view message, char operation) {
  const auto reply = drift::code::parse_reply(message, operation, kStamp);
  if (!reply) return;
  require(message.substr(1, kStamp.size()) == kStamp);
  require((reply->kind != 'L' && reply->kind != 'F') || reply->body.empty());
  if (reply->kind == 'V') check_value(reply->body);
}

}  // namespace

DRIFT_FUZZ_TARGET(code_reply) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char operation : {'L', 'C', 'F'}) check_reply(bytes, operation);
  if (bytes.empty()) return 0;
  // As if the stamp were right: chance would not find it.
  check_reply(std::string(1, bytes[0]).append(kStamp).append(bytes.substr(1)), 'C');
  if (value_fault(bytes).empty()) check_value(bytes);
  if (const auto texts = drift::code::read_texts(bytes)) require(drift::code::tuple_of_texts(*texts) == bytes);
  return 0;
}

}  // namespace drift::code_reply_fuzzer
