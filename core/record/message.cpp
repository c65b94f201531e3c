#include <core/record/message.h>

namespace drift {
namespace {

enum WireType { kVarint = 0, kEightBytes = 1, kLengthAndBytes = 2, kFourBytes = 5 };

/// Take `count` bytes off the front; nothing if there are fewer.
std::optional<std::string_view> take_bytes(std::string_view& rest, std::uint64_t count) {
  if (count > rest.size()) return std::nullopt;
  const auto taken = rest.substr(0, count);
  rest.remove_prefix(count);
  return taken;
}

std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = take_bytes(rest, 1);
    if (!byte) return std::nullopt;
    const auto bits = static_cast<unsigned char>(byte->front());
    value |= static_cast<std::uint64_t>(bits & 0x7F) << shift;
    if ((bits & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<MessageField> take_field(std::string_view& rest, std::uint64_t type) {
  if (type == kVarint) {
    const auto value = take_varint(rest);
    if (!value) return std::nullopt;
    return MessageField{static_cast<std::int64_t>(*value), {}};
  }
  std::optional<std::uint64_t> count;
  if (type == kLengthAndBytes) count = take_varint(rest);
  if (type == kEightBytes) count = 8;
  if (type == kFourBytes) count = 4;
  if (!count) return std::nullopt;
  const auto bytes = take_bytes(rest, *count);
  if (!bytes) return std::nullopt;
  if (type == kLengthAndBytes) return MessageField{0, *bytes};
  return MessageField{static_cast<std::int64_t>(read_little_endian(*bytes, bytes->size())), {}};
}

}  // namespace

void append_little_endian(std::string& text, std::uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) text += static_cast<char>(value >> (8 * byte) & 0xFF);
}

std::uint64_t read_little_endian(std::string_view text, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < bytes; ++byte)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[byte])) << (8 * byte);
  return value;
}

void Message::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
  bytes_ += static_cast<char>(value);
}

void Message::key(int field, int type) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<unsigned>(type)); }

Message& Message::integer(int field, std::int64_t value) {
  key(field, kVarint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

Message& Message::real(int field, double value) {
  key(field, kEightBytes);
  append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value), 8);
  return *this;
}

Message& Message::single(int field, float value) {
  key(field, kFourBytes);
  append_little_endian(bytes_, std::bit_cast<std::uint32_t>(value), 4);
  return *this;
}

Message& Message::text(int field, std::string_view value) {
  key(field, kLengthAndBytes);
  varint(value.size());
  bytes_ += value;
  return *this;
}

Message& Message::reals(int field, const std::vector<double>& values) {
  key(field, kLengthAndBytes);
  varint(8 * values.size());
  for (const double value : values) append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value), 8);
  return *this;
}

std::optional<MessageField> find_field(std::string_view message, std::initializer_list<int> path) {
  std::optional<MessageField> found = MessageField{0, message};
  for (const int wanted : path) {
    std::string_view rest = found->text;
    found.reset();
    while (const auto key = take_varint(rest)) {
      const auto field = take_field(rest, *key & 7);
      if (!field) break;
      if (static_cast<int>(*key >> 3) == wanted) {
        found = field;
        break;
      }
    }
    if (!found) return found;
  }
  return found;
}

}  // namespace drift
