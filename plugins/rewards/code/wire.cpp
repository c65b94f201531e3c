#include "wire.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

namespace drift::code {
namespace {

constexpr std::size_t kMaxNameBytes = 64;

class ValueReader {
 public:
  explicit ValueReader(std::string_view bytes) : left_(bytes) {}

  /// Removes one value from the remaining bytes. False after the first fault.
  bool value(int depth, bool hashable) {
    if (depth > kMaxValueDepth) return fail("is nested too deep");
    if (++nodes_ > kMaxValueNodes) return fail("has too many parts");
    if (left_.empty()) return fail("is cut off");
    const char tag = left_.front();
    left_.remove_prefix(1);
    switch (tag) {
      case 'N':
      case 'T':
      case 'F': return true;
      case 'f': return bytes(8);
      case 'c': return bytes(16);
      case 'i': return integer();
      case 's': return text();
      case 'b': return sized(kMaxValueBytes);
      case 'y': return type();
      case 'x': return library(depth, hashable);
      case 'o': return bytes(8);
      case 'k': return bytes(4);
      case 'q': return bytes(8) && value(depth + 1, hashable);
      case 'r': return hashable ? fail("has a container as a key") : bytes(4);
      case 'j': return bytes(4) && value(depth + 1, false);
      case 't': return items(depth, hashable);
      case 'Z': return items(depth, true);
      case 'l': return hashable ? fail("has a list as a key") : items(depth, false);
      case 'S': return hashable ? fail("has a set as a key") : items(depth, true);
      case 'd': return hashable ? fail("has a dict as a key") : items(depth, true, true);
      default: return fail("has an unknown tag");
    }
  }

  bool size(std::size_t& result) {
    if (left_.size() < kSizeBytes) return fail("is cut off");
    result = size_at(left_);
    left_.remove_prefix(kSizeBytes);
    return true;
  }

  /// A length and that many bytes, which last() then returns.
  bool sized(std::size_t most) {
    std::size_t length = 0;
    if (!size(length)) return false;
    return length > most ? fail("has a part that is too long") : bytes(length);
  }

  bool text() {
    if (!sized(kMaxValueBytes)) return false;
    return simdjson::validate_utf8(last_.data(), last_.size()) || fail("has a text that is not UTF-8");
  }

  std::string_view last() const { return last_; }
  std::string_view left() const { return left_; }
  const char* fault() const { return fault_; }

 private:
  bool fail(const char* fault) {
    fault_ = fault;
    return false;
  }

  bool bytes(std::size_t count) {
    if (left_.size() < count) return fail("is cut off");
    last_ = left_.substr(0, count);
    left_.remove_prefix(count);
    return true;
  }

  bool integer() {
    if (!sized(kMaxIntBytes)) return false;
    return !last_.empty() || fail("has an empty int");
  }

  bool type() {
    static constexpr std::array<std::string_view, 12> kNames = {
        "bool", "int", "float", "complex", "str", "bytes", "list", "tuple", "set", "frozenset", "dict", "object"};
    if (!sized(kMaxNameBytes)) return false;
    return std::find(kNames.begin(), kNames.end(), last_) != kNames.end() || fail("has an unknown type");
  }

  // What it is made of is tried by the judge, whose verdict is then that the call has failed.
  bool library(int depth, bool hashable) {
    static constexpr std::array<std::string_view, 17> kHashable = {
        "range",    "slice",      "Decimal",   "Fraction",  "date",         "time",
        "datetime", "UUID",       "PosixPath", "timedelta", "timezone",     "NotImplemented",
        "Ellipsis", "error type", "number",    "error",     "PurePosixPath"};
    static constexpr std::array<std::string_view, 11> kOthers = {"bytearray",   "memoryview",  "deque",     "Counter",
                                                                 "OrderedDict", "defaultdict", "array",     "ndarray",
                                                                 "dict_keys",   "dict_values", "dict_items"};
    if (!sized(kMaxNameBytes)) return false;
    const bool can_be_key = std::ranges::find(kHashable, last_) != kHashable.end();
    if (!can_be_key && std::ranges::find(kOthers, last_) == kOthers.end()) return fail("has an unknown type");
    if (hashable && !can_be_key) return fail("has a container as a key");
    if (left_.empty() || left_.front() != 't') return fail("has parts that are no tuple");
    return value(depth + 1, false);
  }

  // `count` is not trusted: every item takes at least one of the remaining bytes.
  bool items(int depth, bool hashable, bool with_value = false) {
    std::size_t count = 0;
    if (!size(count)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!value(depth + 1, hashable) || (with_value && !value(depth + 1, false))) return false;
    }
    return true;
  }

  std::string_view left_;
  std::string_view last_;
  std::size_t nodes_ = 0;
  const char* fault_ = "";
};

bool is_identifier(std::string_view text) {
  const auto fits = [](unsigned char c) { return c == '_' || (c < 0x80 && std::isalnum(c) != 0); };
  return !text.empty() && text.size() <= kMaxNameBytes && std::all_of(text.begin(), text.end(), fits);
}

bool has_right_body(const Reply& reply) {
  switch (reply.kind) {
    case 'L':
    case 'F': return reply.body.empty();
    case 'E': return is_identifier(reply.body);
    case 'R': {
      const auto end = std::min(reply.body.find('\0'), reply.body.size());
      return is_identifier(reply.body.substr(0, end)) &&
             (end == reply.body.size() || value_fault(reply.body.substr(end + 1)).empty());
    }
    case 'U': return true;
    default: return value_fault(reply.body).empty();
  }
}

}  // namespace

void append_size(std::string& bytes, std::size_t size) {
  for (std::size_t i = 0; i < kSizeBytes; ++i) bytes += static_cast<char>(size >> (8 * i) & 0xFF);
}

std::size_t size_at(std::string_view bytes) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < kSizeBytes; ++i) size |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return size;
}

std::string value_fault(std::string_view bytes) {
  if (bytes.size() > kMaxValueBytes) return "is larger than 1 MiB";
  ValueReader reader(bytes);
  if (!reader.value(1, false)) return reader.fault();
  return reader.left().empty() ? "" : "has bytes after it";
}

std::string tuple_of_texts(const std::vector<std::string>& texts) {
  std::string bytes = "t";
  append_size(bytes, texts.size());
  for (const std::string& text : texts) {
    bytes += 's';
    append_size(bytes, text.size());
    bytes += text;
  }
  return bytes;
}

std::optional<std::vector<std::string>> read_texts(std::string_view bytes) {
  if (!value_fault(bytes).empty() || bytes.front() != 't') return std::nullopt;
  ValueReader reader(bytes.substr(1));
  std::size_t count = 0;
  reader.size(count);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    if (reader.left().front() != 's') return std::nullopt;
    reader.value(1, false);
    texts.emplace_back(reader.last());
  }
  return texts;
}

std::optional<Reply> parse_reply(std::string_view message, char operation, std::string_view stamp) {
  if (message.size() < 1 + stamp.size() || message.substr(1, stamp.size()) != stamp) return std::nullopt;
  const Reply reply{message.front(), message.substr(1 + stamp.size())};
  const std::string_view kinds = operation == 'L' ? "LE" : operation == 'F' ? "F" : "VMKRU";
  if (kinds.find(reply.kind) == kinds.npos || !has_right_body(reply)) return std::nullopt;
  return reply;
}

}  // namespace drift::code
