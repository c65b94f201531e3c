// Records in JSON and JSON Lines, and templates over them: any bytes are records or bad records, and what becomes text
// is UTF-8.

#include <core/base/question_key.h>
#include <plugins/tasks/dataset/columns.h>
#include <plugins/tasks/dataset/messages.h>
#include <plugins/tasks/dataset/problems.h>
#include <plugins/tasks/dataset/readers.h>
#include <plugins/tasks/dataset/text.h>

#include <drift/answers.h>

#include <tests/fuzz/fuzz.h>

namespace drift::dataset_fuzzer {
namespace {

void use(const drift::dataset::Record& record) {
  drift::fuzz::require(record.fields.is_object() && record.place.record > 0 && record.place.line > 0);
  for (const auto& [column, value] : record.fields.items()) {
    const std::string text = drift::dataset::text_of(value);
    drift::fuzz::require(drift::dataset::Json::accept(drift::dataset::Json(text).dump()));
    drift::fuzz::require(drift::last_box(text).content.value_or("").size() <= text.size());
    drift::dataset::first_words(text);
    drift::fuzz::require(drift::question_key(text) == drift::question_key("\xC2\xA0" + text + " "));
    drift::dataset::signature(text);
    drift::dataset::find_column(record.fields, column + ".0|" + text);
    drift::fuzz::accepted([&] {
      drift::dataset::check_turns(record.fields, {column + ".0.content", text});
      if (drift::dataset::is_messages(value)) drift::dataset::read_conversation(value, column);
    });
  }
}

}  // namespace

DRIFT_FUZZ_TARGET(dataset) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  drift::dataset::Problems problems;
  drift::dataset::read_json_array(bytes, "a.json", problems, use);
  drift::dataset::read_json_lines(bytes, "a.jsonl", problems, use);
  drift::fuzz::accepted([&] { problems.throw_if_any(true, true); });
  drift::fuzz::accepted([&] {
    drift::dataset::Template(bytes, "question_template").fill(drift::dataset::Json::object({{"a", {1, "b"}}}));
  });
  return 0;
}

}  // namespace drift::dataset_fuzzer
