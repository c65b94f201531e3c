#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Protocol buffers as they are on disk (https://protobuf.dev/programming-guides/encoding). LibTorch contains a version
// of libprotobuf, with which another one in this process would clash.

namespace drift {

/// The lowest `bytes` bytes of a number, lowest first.
void append_little_endian(std::string& text, std::uint64_t value, int bytes);
/// @param bytes  of the text, from its begin
std::uint64_t read_little_endian(std::string_view text, std::size_t bytes);

/// A message in the making: its fields, by their numbers.
class Message {
 public:
  Message& integer(int field, std::int64_t value);
  Message& real(int field, double value);
  Message& single(int field, float value);
  Message& text(int field, std::string_view value);
  Message& reals(int field, const std::vector<double>& values);
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  void key(int field, int type);

  std::string bytes_;
};

/// The contents of one field of a message.
struct MessageField {
  std::int64_t integer = 0;  ///< or the bits of a real number
  std::string_view text;     ///< of a text or a message within
};

/// The first field with this number in the first message with the number before it, and so on; nothing if there is
/// none or the message is damaged.
std::optional<MessageField> find_field(std::string_view message, std::initializer_list<int> path);

}  // namespace drift
