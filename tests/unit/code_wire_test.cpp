// The bytes between judge, parent and worker: what is taken, and what is found to be forged.

#include "wire.h"

#include <gmock/gmock.h>

#include <string>

namespace drift::code::code_wire_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string size(std::size_t count) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(count >> (8 * i));
  return bytes;
}

std::string sized(char tag, const std::string& content) { return tag + size(content.size()) + content; }
std::string counted(char tag, std::size_t count, const std::string& items) { return tag + size(count) + items; }
const std::string kStamp = "0123456789abcdef";

TEST(CodeWire, PlainValuesAreTaken) {
  for (const std::string& value :
       {std::string("N"),
        std::string("T"),
        std::string("F"),
        'f' + std::string(8, '\xFF'),
        'c' + std::string(16, '\0'),
        sized('i', "\x7F"),
        sized('i', std::string(kMaxIntBytes, '\xFF')),
        sized('s', ""),
        sized('s', "h\u00e9"),
        sized('b', "\xFF"),
        sized('y', "int"),
        counted('l', 0, ""),
        counted('t', 2, "NT"),
        counted('l', 1, counted('l', 1, "N")),
        counted('S', 1, counted('t', 1, "N")),
        counted('Z', 1, counted('Z', 0, "")),
        counted('d', 1, "N" + counted('l', 0, "")),
        counted('d', 2, "NNTT"),
        sized('x', "Decimal") + counted('t', 1, sized('s', "1")),
        'o' + size(1) + size(2),
        'k' + size(7),
        'q' + size(1) + size(2) + counted('l', 0, ""),
        'r' + size(0),
        'j' + size(3) + "N",
        counted('S', 2, 'o' + size(1) + size(2) + sized('x', "date") + counted('t', 0, ""))}) {
    EXPECT_EQ(value_fault(value), "") << testing::PrintToString(value);
  }
}

TEST(CodeWire, BytesThatAreNotAValueAreRefused) {
  const auto refused = [](const std::string& value, const char* fault) { EXPECT_EQ(value_fault(value), fault); };
  refused("", "is cut off");
  refused("X", "has an unknown tag");
  refused("NN", "has bytes after it");
  refused("f1234567", "is cut off");
  refused("l\1\0", "is cut off");
  refused(counted('l', 2, "N"), "is cut off");
  refused(counted('l', 0xFFFFFFFF, "N"), "is cut off");
  refused('s' + size(5) + "four", "is cut off");
  refused('s' + size(0xFFFFFFFF) + "four", "has a part that is too long");
  refused(sized('s', "\xC3"), "has a text that is not UTF-8");
  refused(sized('s', "\xED\xA0\x80"), "has a text that is not UTF-8");
  refused(sized('i', ""), "has an empty int");
  refused(sized('i', std::string(kMaxIntBytes + 1, '\1')), "has a part that is too long");
  refused(sized('y', "module"), "has an unknown type");
  refused(sized('x', "Popen") + counted('t', 0, ""), "has an unknown type");
  refused(sized('x', "Decimal") + "N", "has parts that are no tuple");
  refused(sized('x', "Decimal"), "has parts that are no tuple");
  refused("o1234567", "is cut off");
  refused("k123", "is cut off");
  refused("q12345678", "is cut off");
  refused("j1234", "is cut off");
}

TEST(CodeWire, AValueThatPythonCannotHashIsNotAKey) {
  EXPECT_EQ(value_fault(counted('S', 1, counted('l', 0, ""))), "has a list as a key");
  EXPECT_EQ(value_fault(counted('Z', 1, counted('S', 0, ""))), "has a set as a key");
  EXPECT_EQ(value_fault(counted('d', 1, counted('d', 0, "") + "N")), "has a dict as a key");
  EXPECT_EQ(value_fault(counted('d', 1, counted('t', 1, counted('l', 0, "")) + "N")), "has a list as a key");
  EXPECT_EQ(value_fault(counted('S', 1, sized('x', "deque") + counted('t', 0, ""))), "has a container as a key");
  EXPECT_EQ(value_fault(counted('S', 1, 'r' + size(1))), "has a container as a key");
  EXPECT_EQ(value_fault(counted('S', 1, 'q' + size(1) + size(2) + counted('l', 0, ""))), "has a list as a key");
}

TEST(CodeWire, ValuesAreOfLimitedSize) {
  const auto nested = [](int depth) {
    std::string value;
    for (int i = 1; i < depth; ++i) value += counted('l', 1, "");
    return value + "N";
  };
  EXPECT_EQ(value_fault(nested(kMaxValueDepth)), "");
  EXPECT_EQ(value_fault(nested(kMaxValueDepth + 1)), "is nested too deep");
  EXPECT_EQ(value_fault(nested(100'000)), "is nested too deep");
  EXPECT_EQ(value_fault(counted('l', kMaxValueNodes - 1, std::string(kMaxValueNodes - 1, 'N'))), "");
  EXPECT_EQ(value_fault(counted('l', kMaxValueNodes, std::string(kMaxValueNodes, 'N'))), "has too many parts");
  EXPECT_EQ(value_fault(sized('b', std::string(kMaxValueBytes - 5, 'x'))), "");
  EXPECT_EQ(value_fault(sized('b', std::string(kMaxValueBytes - 4, 'x'))), "is larger than 1 MiB");
}

TEST(CodeWire, AReplyAnswersItsRequest) {
  const auto reply = [](const std::string& message, char operation) { return parse_reply(message, operation, kStamp); };
  EXPECT_EQ(reply("L" + kStamp, 'L')->kind, 'L');
  EXPECT_EQ(reply("F" + kStamp, 'F')->kind, 'F');
  EXPECT_EQ(reply("E" + kStamp + "NameError", 'L')->body, "NameError");
  EXPECT_EQ(reply("V" + kStamp + "N", 'C')->body, "N");
  EXPECT_EQ(reply("R" + kStamp + "ValueError", 'C')->kind, 'R');
  EXPECT_EQ(reply("R" + kStamp + "ValueError" + '\0' + "N", 'A')->kind, 'R');
  EXPECT_EQ(reply("M" + kStamp + "N", 'C')->kind, 'M');
  EXPECT_EQ(reply("K" + kStamp + "N", 'A')->kind, 'K');
  EXPECT_EQ(reply("U" + kStamp + "\x01\xFF", 'C')->kind, 'U');
}

TEST(CodeWire, AnythingElseIsForged) {
  const auto forged = [](const std::string& message, char operation) {
    EXPECT_FALSE(parse_reply(message, operation, kStamp)) << testing::PrintToString(message);
  };
  forged("", 'C');
  forged("V", 'C');
  forged("V" + kStamp, 'C');
  forged("V" + kStamp.substr(1) + "NN", 'C');
  forged("V0123456789abcdeXN", 'C');
  forged("V" + kStamp + "NN", 'C');
  forged("L" + kStamp, 'C');
  forged("V" + kStamp + "N", 'L');
  forged("V" + kStamp + "N", 'F');
  forged("L" + kStamp + "x", 'L');
  forged("C" + kStamp, 'C');
  forged("R" + kStamp, 'C');
  forged("R" + kStamp + "Value Error", 'C');
  forged("R" + kStamp + std::string(100, 'a'), 'C');
  forged("E" + kStamp + "\n", 'L');
  forged("K" + kStamp + "N", 'L');
  forged("K" + kStamp, 'C');
  forged("M" + kStamp + "NN", 'C');
  forged("R" + kStamp + "ValueError" + '\0', 'C');
  forged("R" + kStamp + "ValueError" + '\0' + "NN", 'C');
}

TEST(CodeWire, ATupleOfTextsIsReadAgain) {
  EXPECT_THAT(*read_texts(tuple_of_texts({"a", "\u00e9"})), ElementsAre("a", "\u00e9"));
  EXPECT_THAT(*read_texts(tuple_of_texts({})), ElementsAre());
  EXPECT_FALSE(read_texts(counted('t', 1, "T")));
  EXPECT_FALSE(read_texts("N"));
  EXPECT_FALSE(read_texts(""));
}

}  // namespace
}  // namespace drift::code::code_wire_test
