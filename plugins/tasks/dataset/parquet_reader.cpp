#include "readers.h"

#include <drift/error.h>

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type_traits.h>
#include <arrow/util/utf8.h>
#include <arrow/visit_array_inline.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <array>
#include <charconv>
#include <cmath>
#include <memory>

namespace drift::dataset {
namespace {

Json to_json(const arrow::Array& array, std::int64_t row);

/// One value of an array as JSON, by the array's type.
class ToJson {
 public:
  explicit ToJson(std::int64_t row) : row_(row) {}

  Json value;

  template <class Array>
  arrow::Status Visit(const Array& array) {
    using Type = typename Array::TypeClass;
    if constexpr (arrow::is_boolean_type<Type>::value) {
      value = array.Value(row_);
    } else if constexpr (arrow::is_integer_type<Type>::value || arrow::is_floating_type<Type>::value) {
      value = from_number(array);
    } else if constexpr (arrow::is_base_binary_type<Type>::value || arrow::is_binary_view_like_type<Type>::value) {
      value = from_text(array.GetView(row_));
    } else if constexpr (arrow::is_var_length_list_type<Type>::value || arrow::is_list_view_type<Type>::value ||
                         arrow::is_fixed_size_list_type<Type>::value) {
      value = from_list(array);
    } else if constexpr (std::is_same_v<Type, arrow::StructType>) {
      value = from_struct(array);
    } else if constexpr (arrow::is_dictionary_type<Type>::value) {
      value = to_json(*array.dictionary(), array.GetValueIndex(row_));
    } else {
      ARROW_ASSIGN_OR_RAISE(const auto scalar, array.GetScalar(row_));  // dates, decimals, …
      value = scalar->ToString();
    }
    return arrow::Status::OK();
  }

 private:
  template <class Array>
  Json from_number(const Array& array) const {
    if constexpr (std::is_same_v<Array, arrow::HalfFloatArray>) {
      return from_float(arrow::util::Float16::FromBits(array.Value(row_)).ToFloat());
    } else if constexpr (arrow::is_floating_type<typename Array::TypeClass>::value) {
      return from_float(array.Value(row_));
    } else {
      return array.Value(row_);
    }
  }

  // Null for what is no number. By its shortest digits: 0.1 in 32 bits is 0.1, not 0.10000000149011612.
  template <class Float>
  static Json from_float(Float number) {
    if (!std::isfinite(number)) return nullptr;
    std::array<char, 32> digits;
    const char* const end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    double same = 0;
    std::from_chars(digits.begin(), end, same);
    return same;
  }

  static Json from_text(std::string_view text) {
    if (!arrow::util::ValidateUTF8(text)) throw Error("a text is not valid UTF-8");
    return std::string(text);
  }

  template <class Array>
  Json from_list(const Array& array) const {
    Json list = Json::array();
    for (std::int64_t i = 0; i < array.value_length(row_); ++i)
      list.push_back(to_json(*array.values(), array.value_offset(row_) + i));
    return list;
  }

  Json from_struct(const arrow::StructArray& array) const {
    Json object = Json::object();
    for (int i = 0; i < array.num_fields(); ++i)
      object[array.struct_type()->field(i)->name()] = to_json(*array.field(i), row_);
    return object;
  }

  std::int64_t row_;
};

Json to_json(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) return nullptr;
  ToJson visitor(row);
  PARQUET_THROW_NOT_OK(arrow::VisitArrayInline(array, &visitor));
  return std::move(visitor.value);
}

Json row_of(const arrow::RecordBatch& batch, std::int64_t row) {
  Json fields = Json::object();
  for (int i = 0; i < batch.num_columns(); ++i) fields[batch.column_name(i)] = to_json(*batch.column(i), row);
  return fields;
}

std::unique_ptr<parquet::arrow::FileReader> open_file(const std::string& path) {
  PARQUET_ASSIGN_OR_THROW(const auto file, arrow::io::ReadableFile::Open(path));
  parquet::arrow::FileReaderBuilder builder;
  PARQUET_THROW_NOT_OK(builder.Open(file));
  std::unique_ptr<parquet::arrow::FileReader> reader;
  PARQUET_THROW_NOT_OK(builder.Build(&reader));
  return reader;
}

}  // namespace

void read_parquet(const std::string& path, const std::string& file, Problems& problems, const UseRecord& use) {
  Place place{file, 0, 0};
  try {
    const auto reader = open_file(path);
    PARQUET_ASSIGN_OR_THROW(const auto batches, reader->GetRecordBatchReader());
    arrow::util::InitializeUTF8();
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      PARQUET_THROW_NOT_OK(batches->ReadNext(&batch));
      if (batch == nullptr) return;
      PARQUET_THROW_NOT_OK(batch->Validate());
      for (std::int64_t row = 0; row < batch->num_rows(); ++row) {
        ++place.record;
        try {
          use({place, row_of(*batch, row)});
        } catch (const Error& error) {
          problems.bad_record(place, error.what());
        }
      }
    }
  } catch (const std::exception& error) {
    problems.other(path + " cannot be read as Parquet: " + error.what());
  }
}

}  // namespace drift::dataset
