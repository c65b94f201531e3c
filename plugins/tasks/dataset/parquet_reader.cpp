#include "readers.h"

#include <drift/error.h>

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
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
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace drift::dataset {
namespace {

/// The file takes more memory than it may.
class TooLarge : public std::exception {};

/// What the records of a file take: a page of some bytes can hold millions of equal values.
class Budget {
 public:
  explicit Budget(std::int64_t bytes) : left_(bytes) {}
  /// @throws TooLarge
  void spend(std::size_t bytes) {
    left_ -= static_cast<std::int64_t>(bytes);
    if (left_ < 0) throw TooLarge();
  }

 private:
  std::int64_t left_;
};

Json to_json(const arrow::Array& array, std::int64_t row, Budget& budget);

/// One value of an array as JSON, by the array's type.
class ToJson {
 public:
  ToJson(std::int64_t row, Budget& budget) : row_(row), budget_(budget) {}

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
      value = to_json(*array.dictionary(), array.GetValueIndex(row_), budget_);
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

  Json from_text(std::string_view text) {
    budget_.spend(text.size());
    if (!arrow::util::ValidateUTF8(text)) throw Error("a text is not valid UTF-8");
    return std::string(text);
  }

  template <class Array>
  Json from_list(const Array& array) {
    Json list = Json::array();
    for (std::int64_t i = 0; i < array.value_length(row_); ++i)
      list.push_back(to_json(*array.values(), array.value_offset(row_) + i, budget_));
    return list;
  }

  Json from_struct(const arrow::StructArray& array) {
    Json object = Json::object();
    for (int i = 0; i < array.num_fields(); ++i) {
      const std::string& name = array.struct_type()->field(i)->name();
      budget_.spend(name.size());
      object[name] = to_json(*array.field(i), row_, budget_);
    }
    return object;
  }

  std::int64_t row_;
  Budget& budget_;
};

Json to_json(const arrow::Array& array, std::int64_t row, Budget& budget) {
  budget.spend(sizeof(Json::object_t::value_type));
  if (array.IsNull(row)) return nullptr;
  ToJson visitor(row, budget);
  PARQUET_THROW_NOT_OK(arrow::VisitArrayInline(array, &visitor));
  return std::move(visitor.value);
}

Json row_of(const arrow::RecordBatch& batch, std::int64_t row, const Wanted& wanted, Budget& budget) {
  constexpr std::size_t kBesidesItsColumns = 256;  // what a record and its item take without them
  budget.spend(kBesidesItsColumns);
  Json fields = Json::object();
  for (int i = 0; i < batch.num_columns(); ++i) {
    const std::string& name = batch.column_name(i);
    budget.spend(name.size());
    Json& field = fields[name] = nullptr;
    try {
      field = to_json(*batch.column(i), row, budget);
    } catch (const Error&) {  // no text, such as a picture
      if (wanted.columns.contains(name)) throw;
    }
  }
  return fields;
}

std::unique_ptr<parquet::arrow::FileReader> open_file(const std::string& path, arrow::MemoryPool* pool) {
  // Pages are read one by one and few rows at a time: a value may have megabytes.
  parquet::ReaderProperties pages(pool);
  pages.enable_buffered_stream();
  parquet::ArrowReaderProperties rows;
  rows.set_pre_buffer(false);
  rows.set_batch_size(64);
  PARQUET_ASSIGN_OR_THROW(const auto file, arrow::io::ReadableFile::Open(path, pool));
  parquet::arrow::FileReaderBuilder builder;
  PARQUET_THROW_NOT_OK(builder.Open(file, pages));
  std::unique_ptr<parquet::arrow::FileReader> reader;
  PARQUET_THROW_NOT_OK(builder.memory_pool(pool)->properties(rows)->Build(&reader));
  return reader;
}

/// The file's columns that are wanted, with all that they hold; the first one if there is none of them, since it has
/// the rows.
std::vector<int> wanted_columns(const parquet::SchemaDescriptor& schema, const Wanted& wanted) {
  std::vector<int> columns;
  for (int i = 0; i < schema.num_columns(); ++i) {
    if (wanted.whole_records || wanted.columns.contains(schema.GetColumnRoot(i)->name())) columns.push_back(i);
  }
  if (columns.empty() && schema.num_columns() > 0) columns.push_back(0);
  return columns;
}

void read_rows(parquet::arrow::FileReader& reader, Place& place, const Wanted& wanted, Problems& problems,
               const UseRecord& use, Budget& budget) {
  std::vector<int> groups(static_cast<std::size_t>(reader.num_row_groups()));
  std::iota(groups.begin(), groups.end(), 0);
  const auto columns = wanted_columns(*reader.parquet_reader()->metadata()->schema(), wanted);
  if (columns.empty()) return;
  PARQUET_ASSIGN_OR_THROW(const auto batches, reader.GetRecordBatchReader(groups, columns));
  arrow::util::InitializeUTF8();
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    PARQUET_THROW_NOT_OK(batches->ReadNext(&batch));
    if (batch == nullptr) return;
    PARQUET_THROW_NOT_OK(batch->Validate());
    for (std::int64_t row = 0; row < batch->num_rows(); ++row) {
      ++place.record;
      try {
        use({place, row_of(*batch, row, wanted, budget)});
      } catch (const Error& error) {
        problems.bad_record(place, error.what());
      }
    }
  }
}

}  // namespace

void read_parquet(const std::string& path, const std::string& file, const Wanted& wanted, Problems& problems,
                  const UseRecord& use) {
  const auto too_large = [&] {
    problems.other(path + " takes more than " + std::to_string(wanted.parquet_mib) +
                   " MiB decompressed; if it is to be trusted, raise task.parquet_mib");
  };
  const std::int64_t most = wanted.parquet_mib << 20;
  const auto memory = arrow::MemoryPool::CreateDefault();
  arrow::CappedMemoryPool capped(memory.get(), most);
  Budget budget(most);
  Place place{file, 0, 0};
  try {
    read_rows(*open_file(path, &capped), place, wanted, problems, use, budget);
  } catch (const TooLarge&) {
    too_large();
  } catch (const parquet::ParquetStatusException& error) {
    if (error.status().IsOutOfMemory()) return too_large();
    problems.other(path + " cannot be read as Parquet: " + error.what());
  } catch (const std::exception& error) {
    problems.other(path + " cannot be read as Parquet: " + error.what());
  }
}

}  // namespace drift::dataset
