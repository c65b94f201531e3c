#include "tests/support/tensors.h"

#include <core/io/safetensors.h>

#include <drift/error.h>
#include <drift/random.h>
#include <tests/support/support.h>

#include <ATen/ops/scalar_tensor.h>

#include <cstring>

namespace drift::safetensors_test {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using namespace testing;

class Safetensors : public ::testing::Test {
 protected:
  // A file of the given header text and data.
  std::filesystem::path raw(const std::string& header, const std::string& data = "") {
    std::uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return raw_bytes(bytes + header + data);
  }
  std::filesystem::path raw_bytes(const std::string& bytes) {
    const auto path = folder_.path() / "file.safetensors";
    write_file(path, bytes);
    return path;
  }
  std::string error_of(const std::filesystem::path& path) {
    return test::error_of([&] { const SafetensorsFile file(path); });
  }
  std::string header_error(const std::string& header, const std::string& data = "") {
    return error_of(raw(header, data));
  }

  TemporaryFolder folder_;
};

at::Tensor counting(at::ScalarType dtype, at::IntArrayRef shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return at::arange(count, at::TensorOptions().dtype(at::kLong)).view(shape).to(dtype);
}

TEST_F(Safetensors, EveryTypeAndShapeComesBackAsItWas) {
  std::vector<NamedTensor> tensors;
  for (const at::ScalarType dtype :
       {at::kBool, at::kByte, at::kHalf, at::kBFloat16, at::kInt, at::kFloat, at::kDouble, at::kLong}) {
    tensors.push_back({std::string("block of ") + c10::toString(dtype), counting(dtype, {3, 5})});
  }
  tensors.push_back({"scalar", at::scalar_tensor(2.5)});
  tensors.push_back({"empty", at::empty({4, 0, 2})});
  tensors.push_back({"strided", counting(at::kFloat, {4, 6}).t().narrow(0, 1, 3)});
  tensors.push_back({"näme \"quoted\"", counting(at::kFloat, {2})});
  const auto path = folder_.path() / "all.safetensors";
  write_safetensors(path, tensors, {{"format", "pt"}, {"note", "two"}});

  const SafetensorsFile file(path);
  EXPECT_EQ(file.entries().size(), tensors.size());
  EXPECT_EQ(file.metadata().at("note"), "two");
  for (const NamedTensor& tensor : tensors) {
    SCOPED_TRACE(tensor.name);
    const at::Tensor read = file.tensor(tensor.name);
    EXPECT_EQ(read.scalar_type(), tensor.tensor.scalar_type());
    EXPECT_EQ(read.sizes(), tensor.tensor.sizes());
    EXPECT_TRUE(at::equal(read, tensor.tensor));
  }
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_THROW(file.tensor("nothing"), Error);
}

TEST_F(Safetensors, BytesDependOnNamesAndValuesAlone) {
  const at::Tensor a = counting(at::kFloat, {2, 2});
  const at::Tensor b = counting(at::kLong, {3});
  write_safetensors(folder_.path() / "1", {{"a", a}, {"b", b}});
  write_safetensors(folder_.path() / "2", {{"b", b.clone()}, {"a", a.t().contiguous().t()}});
  const std::string bytes = read_file(folder_.path() / "1");
  EXPECT_EQ(bytes, read_file(folder_.path() / "2"));
  EXPECT_THAT(bytes,
              HasSubstr(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[3],"data_offsets":[0,24]},)"
                        R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[24,40]}} )"));
}

TEST_F(Safetensors, SeveralWritersMakeTheFileThatOneWrites) {
  const at::Tensor a = counting(at::kFloat, {5, 3}), b = counting(at::kBFloat16, {4}), c = counting(at::kLong, {2});
  const auto whole = folder_.path() / "whole", parts = folder_.path() / "parts";
  write_safetensors(whole, {{"a", a}, {"b", b}, {"c", c}});
  const auto meta = [](const at::Tensor& tensor) {
    return at::empty(tensor.sizes(), tensor.options().device(at::kMeta));
  };
  write_safetensors(parts, {{"a", meta(a)}, {"b", meta(b)}, {"c", c}}, kPlainMetadata, {}, [&](const auto& file) {
    EXPECT_EQ(std::filesystem::file_size(file), std::filesystem::file_size(whole)) << "room for all of it";
    write_elements(file, {{"a", 7, a.view({-1}).narrow(0, 7, 8)}, {"b", 4, b.narrow(0, 4, 0)}});
    write_elements(file, {{"a", 0, a.view({-1}).narrow(0, 0, 7)}, {"b", 0, b}});
  });
  EXPECT_EQ(read_file(parts), read_file(whole));
}

// What safetensors 0.8.0 (PyPI) wrote for save_file({"b": bfloat16, "a": float32, "c": int64, "m": bool},
// metadata={"zeta": …, "alpha": …, "format": …}): the metadata in the caller's order, the tensors by type, then name.
TEST_F(Safetensors, AFileOfTheFormatsOwnPackageIsReadAndRepeatedToTheLastByte) {
  const auto path = raw(R"({"__metadata__":{"zeta":"1","alpha":"2","format":"pt"},)"
                        R"("c":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                        R"("a":{"dtype":"F32","shape":[1,3],"data_offsets":[8,20]},)"
                        R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[20,24]},)"
                        R"("m":{"dtype":"BOOL","shape":[3],"data_offsets":[24,27]}}    )",
                        std::string("\x07\0\0\0\0\0\0\0\0\0\x80?\0\0\0@\0\0@@\xc0? @\x01\0\x01", 27));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensor("c").item<std::int64_t>(), 7);
  EXPECT_EQ(file.tensor("a").sum().item<float>(), 6);
  EXPECT_EQ(file.tensor("b").sum().item<float>(), 4);
  EXPECT_EQ(file.tensor("m").sum().item<std::int64_t>(), 2);
  std::vector<NamedTensor> tensors;
  for (const char* name : {"a", "b", "c", "m", "another"}) {
    tensors.push_back({name, name == std::string("another") ? at::zeros({1}) : file.tensor(name)});
  }
  write_safetensors_like(folder_.path() / "again", file, tensors);
  EXPECT_EQ(read_file(folder_.path() / "again"), read_file(path));

  tensors[1].tensor = tensors[1].tensor.to(at::kDouble);  // now the largest type but one
  write_safetensors_like(folder_.path() / "converted", file, tensors);
  const SafetensorsFile converted(folder_.path() / "converted");
  std::vector<std::string> order;
  for (const SafetensorsEntry& entry : converted.entries()) order.push_back(entry.name);
  EXPECT_THAT(order, ElementsAre("c", "b", "a", "m"));
  EXPECT_EQ(converted.metadata(), file.metadata());
  EXPECT_TRUE(at::equal(converted.tensor("b"), tensors[1].tensor));
}

TEST_F(Safetensors, ATensorOutlivesItsFileAndWritingToItLeavesTheFileAlone) {
  const auto path = folder_.path() / "file";
  write_safetensors(path, {{"x", counting(at::kFloat, {4})}});
  const std::string before = read_file(path);
  at::Tensor x;
  {
    const SafetensorsFile file(path);
    x = file.tensor("x");
  }
  x.add_(1);
  EXPECT_EQ(x.sum().item<float>(), 10);
  EXPECT_EQ(read_file(path), before);
}

TEST_F(Safetensors, TensorsAtOddPositionsAreRead) {
  const std::string header =
      R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"y":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const float value = 1.5F;
  std::string data(5, '\7');
  std::memcpy(data.data() + 1, &value, 4);
  for (const char* padding : {"", " ", "  ", "   "}) {
    const SafetensorsFile file(raw(header + padding, data));
    EXPECT_EQ(file.tensor("y").item<float>(), 1.5F);
    EXPECT_EQ(file.tensor("x").item<std::int64_t>(), 7);
  }
}

TEST_F(Safetensors, AnyByteButZeroIsTrue) {
  const SafetensorsFile file(
      raw(R"({"x":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", std::string("\0\1\xff", 3)));
  EXPECT_EQ(file.tensor("x").sum().item<std::int64_t>(), 2);
}

TEST_F(Safetensors, AFileCutOffAnywhereIsRefused) {
  const auto path = folder_.path() / "whole";
  write_safetensors(path, {{"a", counting(at::kFloat, {3})}, {"b", counting(at::kBool, {5})}});
  const std::string bytes = read_file(path);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(error_of(raw_bytes(bytes.substr(0, length))), "")
        << "cut to " << length << " of " << bytes.size() << " bytes";
  }
  EXPECT_THAT(error_of(raw_bytes(bytes + "x")), HasSubstr("its tensors have 17 bytes, but the file has 18"));
  EXPECT_EQ(error_of(raw_bytes(bytes)), "");
}

// As on a file server that has lost it.
TEST_F(Safetensors, AFileThatIsCutOffWhileItIsReadIsAnError) {
  const auto path = folder_.path() / "file.safetensors";
  write_safetensors(path, {{"x", at::arange(100000, at::kFloat)}});
  const SafetensorsFile file(path);
  const auto target = at::empty({100000}, at::kFloat);
  file.read_elements(*file.find("x"), 0, target);
  EXPECT_TRUE(at::equal(target, at::arange(100000, at::kFloat)));
  std::filesystem::resize_file(path, 2000);
  for (const auto type : {at::kFloat, at::kDouble}) {
    const auto error = test::error_of([&] { file.read_elements(*file.find("x"), 0, target.to(type)); });
    EXPECT_THAT(error, HasSubstr("became shorter while it was read"));
  }
}

TEST_F(Safetensors, RandomBytesAndRandomChangesNeverCrash) {
  const RandomStream random(1, "bytes");
  write_safetensors(folder_.path() / "whole", {{"a", counting(at::kFloat, {3})}, {"b", counting(at::kBool, {5})}});
  const std::string whole = read_file(folder_.path() / "whole");
  int refused = 0;
  for (std::int64_t trial = 0; trial < 300; ++trial) {
    std::string bytes = whole;
    const bool noise = trial % 2 == 0;
    const std::int64_t changes =
        noise ? static_cast<std::int64_t>(bytes.size()) : 1 + random.below(3, {trial, 0, 0, 2});
    for (std::int64_t i = 0; i < changes; ++i) {
      const std::int64_t at = noise ? i : random.below(static_cast<std::int64_t>(bytes.size()), {trial, 0, i, 0});
      bytes[static_cast<std::size_t>(at)] = static_cast<char>(random.below(256, {trial, 0, i, 1}));
    }
    const auto path = raw_bytes(bytes);
    try {
      const SafetensorsFile file(path);
      for (const SafetensorsEntry& entry : file.entries()) (void)file.tensor(entry.name).to(at::kDouble).sum();
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
}

TEST_F(Safetensors, RandomChangesOfAHeaderNeverCrash) {
  const RandomStream random(2, "headers");
  const std::string whole = R"({"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                            R"("y":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})";
  ASSERT_EQ(parse_safetensors_header(whole, 9, "file").entries.size(), 2U);
  const std::string alphabet = "{}[]\",:0129-.eaxyU8F324 \\\xff";
  int refused = 0;
  for (std::int64_t trial = 0; trial < 50'000; ++trial) {
    std::string header = whole;
    for (std::int64_t i = 0; i <= random.below(3, {trial, 0, 0, 3}); ++i) {
      const auto at =
          static_cast<std::size_t>(random.below(static_cast<std::int64_t>(header.size()), {trial, 0, i, 0}));
      const char c = alphabet[static_cast<std::size_t>(
          random.below(static_cast<std::int64_t>(alphabet.size()), {trial, 0, i, 1}))];
      switch (random.below(3, {trial, 0, i, 2})) {
        case 0: header[at] = c; break;
        case 1: header.insert(at, 1, c); break;
        default: header.erase(at, 1);
      }
    }
    try {
      (void)parse_safetensors_header(header, 9, "file");
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 25'000);
}

TEST_F(Safetensors, HostileHeadersAreRefusedWithTheTensorAndTheReason) {
  const std::string x = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string data(8, '\0');
  ASSERT_EQ(header_error(x, data), "");
  struct Case {
    std::string header;
    std::string data;
    std::string message;
  };
  const std::vector<Case> cases{
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}})", data,
       "tensor `x` of type F32 and shape [2] needs 8 bytes"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", data, "begin <= end"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", data, "begin <= end"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", data + data,
       "begins at byte 4 of the data, but the one before it ends at 0 (a gap)"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       data, "they overlap"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       data, "the name `x` occurs twice"},
      {R"({"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data, "two fields dtype"},
      {R"({"x":{"dtype":"F4","shape":[2],"data_offsets":[0,8]}})", data, "has the type `F4`; supported: BOOL, U8"},
      {R"({"x":{"dtype":3,"shape":[2],"data_offsets":[0,8]}})", data, "has a number"},
      {R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", data, "a negative number"},
      {R"({"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", data, "a fraction"},
      {R"({"x":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}})", data,
       "needs too many bytes"},
      {R"({"x":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}})", data, "above 2^63 - 1"},
      {R"({"x":{"dtype":"F32","shape":[7,0],"data_offsets":[0,8]}})", data, "but its data_offsets span 8"},
      {R"({"x":{"dtype":"F32","shape":[9223372036854775807,0],"data_offsets":[0,0]}})", "", "needs too many bytes"},
      {R"({"x":{"dtype":"F32","shape":[0,4611686018427387904,8],"data_offsets":[0,0]}})", "", "needs too many bytes"},
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1}})", data, "unknown field `extra`"},
      {R"({"x":{"dtype":"F32","shape":[2]}})", data, "needs the fields dtype, shape and data_offsets"},
      {R"({"x":7})", data, "tensor `x` has a number"},
      {R"({"x":[[1]]})", data, "a list"},
      {R"({"x":{"dtype":{"a":1}}})", data, "an object"},
      {R"({"__metadata__":{"a":{"b":1}}})", "", "the metadata has an object"},
      {R"({"__metadata__":{"a":"b","a":"c"}})", "", "twice"},
      {"{\"\xff\":1}", "", "not valid JSON"},
      {R"([1])", "", "does not begin with {"},
      {R"({} {})", "", "not valid JSON"},
      {"", "", "does not begin with {"},
      {R"({"bad)"
       "\\u001b"
       R"([31m":7})",
       "", "tensor `bad\\x1b[31m`"},
  };
  for (const Case& bad : cases) {
    const std::string message = header_error(bad.header, bad.data);
    EXPECT_THAT(message, HasSubstr(bad.message)) << bad.header;
    EXPECT_THAT(message, HasSubstr("file.safetensors")) << bad.header;
  }
}

TEST_F(Safetensors, DeepNestingAndHugeLengthsCostNothing) {
  EXPECT_NE(header_error("{\"x\":" + std::string(5'000'000, '[')), "");
  EXPECT_NE(header_error("{\"x\":{\"shape\":[" + std::string(1'000'000, '[')), "");
  std::string many = "{\"x\":{\"shape\":[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  EXPECT_THAT(header_error(many), HasSubstr("more than 64 numbers"));
  for (const std::uint64_t length :
       {std::uint64_t{3}, std::uint64_t{100'000'001}, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    EXPECT_THAT(error_of(raw_bytes(bytes + "{}")), HasSubstr("its header claims " + std::to_string(length)));
  }
}

TEST_F(Safetensors, AnInvalidFileIsRefused) {
  EXPECT_THAT(error_of(folder_.path() / "missing"), HasSubstr("No such file"));
  EXPECT_THAT(error_of(folder_.path()), HasSubstr("it is a folder"));
  EXPECT_THAT(error_of("/dev/null"), HasSubstr("/dev/null"));
}

TEST_F(Safetensors, NamesThatCannotBeWrittenAreRefused) {
  const at::Tensor x = at::zeros({1});
  const auto path = folder_.path() / "file";
  EXPECT_THROW(write_safetensors(path, {{"x", x}, {"x", x}}), Error);
  EXPECT_THROW(write_safetensors(path, {{"__metadata__", x}}), Error);
  EXPECT_THROW(write_safetensors(path, {{"\xff", x}}), Error);
  EXPECT_THROW(write_safetensors(path, {{"x", x.to(at::kShort)}}), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace drift::safetensors_test
