#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the parent reads and writes between judge and worker (wire.py is the other side). The worker runs model-written
// code: nothing from there is trusted, and nothing is ever unpickled.
//
// A value is a tag, and what it needs; counts and lengths are four bytes, the lowest first:
//   N T F                    None, True, False
//   i length bytes           int, two's complement, the lowest byte first; at most 39,456 digits
//   f 8 bytes                float; c 16 bytes: complex
//   s length UTF-8           str; b length bytes: bytes
//   l t S Z count values     list, tuple, set, frozenset
//   d count pairs            dict
//   y length name            one of the types bool, int, float, …, object themselves
//   x length name value      a value of the library, such as Decimal: what it is made of
//   o number number          an object of the solution, and its class; k number: a class of the solution
//   q number number value    the same of a class that extends a plain type, and its plain value
//   r number                 a container of the tests that the solution has changed
//   j number value           an object of the tests that the solution holds, such as a callback
// Numbers are four bytes. Only the judge can say whether they stand for something.

namespace drift::code {

inline constexpr std::size_t kMaxValueBytes = 1 << 20;
inline constexpr std::size_t kMaxValueNodes = 100'000;
inline constexpr int kMaxValueDepth = 64;
inline constexpr std::size_t kMaxIntBytes = 1 << 14;
/// Sequence number and nonce, 8 bytes each: new for every request, repeated by the reply.
inline constexpr std::size_t kStampBytes = 16;
/// A value and the bytes around it.
inline constexpr std::size_t kMaxMessageBytes = kMaxValueBytes + 256;

/// Counts and lengths, of messages too.
inline constexpr std::size_t kSizeBytes = 4;
void append_size(std::string& bytes, std::size_t size);
/// Of the first four bytes, which there must be.
std::size_t size_at(std::string_view bytes);

/// Why `bytes` is not exactly one value within the limits above that Python can build; empty if it is.
std::string value_fault(std::string_view bytes);

/// A job for the judge: a tuple of str.
std::string tuple_of_texts(const std::vector<std::string>& texts);

/// The items of such a tuple. Nothing if `bytes` is not one.
std::optional<std::vector<std::string>> read_texts(std::string_view bytes);

/// What the worker answers: one of the letters that worker.py lists, and what follows the stamp.
struct Reply {
  char kind = 0;
  /// L, F: empty. V, M, K: one value without fault. E: an identifier. R: the same, which NUL and a value may follow.
  /// U: any text
  std::string_view body;
};

/// The reply in a message to the request `operation` (L, C, A or F) with this stamp. Nothing if the message is anything
/// else: then the code under test has written it.
std::optional<Reply> parse_reply(std::string_view message, char operation, std::string_view stamp);

}  // namespace drift::code
