#include <core/io/safetensors_header.h>

#include <core/base/quote.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

namespace drift {
namespace {

struct DtypeName {
  at::ScalarType dtype;
  const char* name;
};
// In the format's order of types.
constexpr std::array<DtypeName, 8> kDtypes{{{at::kBool, "BOOL"},
                                            {at::kByte, "U8"},
                                            {at::kHalf, "F16"},
                                            {at::kBFloat16, "BF16"},
                                            {at::kInt, "I32"},
                                            {at::kFloat, "F32"},
                                            {at::kDouble, "F64"},
                                            {at::kLong, "I64"}}};

std::optional<at::ScalarType> dtype_of(std::string_view name) {
  for (const auto& known : kDtypes) {
    if (name == known.name) return known.dtype;
  }
  return std::nullopt;
}

std::string supported_dtypes() {
  std::string names;
  for (const auto& known : kDtypes) names.append(names.empty() ? "" : ", ").append(known.name);
  return names;
}

// Reads the JSON as a stream: nothing is built that the format does not know, so that no input, however deep or long,
// needs more memory than its tensors do, and a name that occurs twice is seen.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::string file) : file_(std::move(file)) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && in_metadata_) {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTop) {
      place_ = Place::kTensor;
      entry_ = {};
      entry_.name = name_;
      seen_fields_.clear();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(std::string& text) override {
    if (place_ == Place::kTop) {
      if (!names_.insert(text).second) fail("the name " + quoted_name(text) + " occurs twice");
      name_ = text;
      field_.clear();
      in_metadata_ = text == "__metadata__";
    } else {
      field_ = text;
      const bool known =
          place_ == Place::kMetadata || field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
      if (!known)
        fail(where() + " has an unknown field " + quoted_name(field_) + "; expected dtype, shape, data_offsets");
      if (place_ == Place::kTensor && !seen_fields_.insert(field_).second) fail(where() + " has two fields " + field_);
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      if (seen_fields_.size() != 3) fail(where() + " needs the fields dtype, shape and data_offsets");
      header_.entries.push_back(std::move(entry_));
    }
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) {
      if (!header_.metadata.emplace(field_, text).second) fail("the metadata has " + quoted_name(field_) + " twice");
    } else if (place_ == Place::kTensor && field_ == "dtype") {
      const auto dtype = dtype_of(text);
      if (!dtype) fail(where() + " has the type " + quoted_name(text) + "; supported: " + supported_dtypes());
      entry_.dtype = *dtype;
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || field_ == "dtype") unexpected("a list");
    place_ = Place::kList;
    numbers_.clear();
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    constexpr std::size_t kMostNumbers = 64;
    if (place_ != Place::kList) unexpected("a number");
    if (value > std::numeric_limits<std::int64_t>::max())
      fail(where() + " has a number in " + field_ + " above 2^63 - 1");
    if (numbers_.size() == kMostNumbers) fail(where() + " has more than 64 numbers in " + field_);
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    if (field_ == "shape") {
      entry_.shape = numbers_;
    } else if (numbers_.size() != 2 || numbers_[0] > numbers_[1]) {
      fail(where() + " needs data_offsets [begin, end] with begin <= end");
    } else {
      entry_.begin = static_cast<std::uint64_t>(numbers_[0]);
      entry_.end = static_cast<std::uint64_t>(numbers_[1]);
    }
    return true;
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(std::int64_t) override { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) override { return unexpected("a fraction"); }
  bool binary(nlohmann::json::binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail("its header is not valid JSON at byte " + std::to_string(position));
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kList, kEnd };

  std::string where() const { return in_metadata_ ? "the metadata" : "tensor " + quoted_name(name_); }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(file_ + ": " + problem, "the file is damaged or not a safetensors file: fetch or write it again");
  }

  [[noreturn]] bool unexpected(const char* found) const {
    if (place_ == Place::kStart || (place_ == Place::kTop && name_.empty())) {
      fail(std::string("its header has ") + found + " where an object is expected");
    }
    fail(where() + " has " + found + " where it does not belong" + (field_.empty() ? "" : ": " + quoted_name(field_)));
  }

  std::string file_;
  SafetensorsHeader header_;
  Place place_ = Place::kStart;
  std::set<std::string> names_;
  std::set<std::string> seen_fields_;
  std::string name_;   // key of the top object
  std::string field_;  // key within it
  bool in_metadata_ = false;
  SafetensorsEntry entry_;
  std::vector<std::int64_t> numbers_;
};

// Nothing if the product does not fit; nor for an empty tensor whose strides would not.
std::optional<std::uint64_t> bytes_of(const SafetensorsEntry& entry) {
  std::uint64_t bytes = c10::elementSize(entry.dtype);
  bool is_empty = false;
  for (const std::int64_t size : entry.shape) {
    is_empty = is_empty || size == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return std::nullopt;
  }
  if (bytes > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return is_empty ? 0 : bytes;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const std::string& file) {
  const std::string damaged = "the file is truncated or damaged: fetch or write it again";
  HeaderReader reader(file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  SafetensorsHeader header = reader.take();
  auto& entries = header.entries;
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t filled = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::string tensor = file + ": tensor " + quoted_name(entry.name);
    const auto bytes = bytes_of(entry);
    if (!bytes || *bytes != entry.end - entry.begin) {
      throw Error(tensor + " of type " + safetensors_dtype_name(entry.dtype) + " and shape " + shape_text(entry.shape) +
                      " needs " + (bytes ? std::to_string(*bytes) : "too many") + " bytes, but its data_offsets span " +
                      std::to_string(entry.end - entry.begin),
                  damaged);
    }
    if (entry.end > data_bytes) {
      throw Error(tensor + " ends at byte " + std::to_string(entry.end) + " of the data, but the file has only " +
                      std::to_string(data_bytes),
                  damaged);
    }
    if (entry.begin != filled) {
      throw Error(tensor + " begins at byte " + std::to_string(entry.begin) +
                      " of the data, but the one before it ends at " + std::to_string(filled) +
                      (entry.begin < filled ? " (they overlap)" : " (a gap)"),
                  damaged);
    }
    filled = entry.end;
  }
  if (filled != data_bytes) {
    throw Error(file + ": its tensors have " + std::to_string(filled) + " bytes, but the file has " +
                    std::to_string(data_bytes) + " bytes of data",
                damaged);
  }
  return header;
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json["__metadata__"] = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    json[entry.name] = {{"dtype", safetensors_dtype_name(entry.dtype)},
                        {"shape", entry.shape},
                        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception&) {
    throw Error("a tensor's name or the metadata is not valid UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::string safetensors_dtype_name(at::ScalarType dtype) {
  for (const auto& known : kDtypes) {
    if (known.dtype == dtype) return known.name;
  }
  throw Error(std::string("a tensor of type ") + c10::toString(dtype) +
              " cannot be written; supported: " + supported_dtypes());
}

std::string shape_text(c10::IntArrayRef shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

int safetensors_dtype_rank(at::ScalarType dtype) {
  const auto known = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeName& d) { return d.dtype == dtype; });
  return static_cast<int>(known - kDtypes.begin());
}

}  // namespace drift
