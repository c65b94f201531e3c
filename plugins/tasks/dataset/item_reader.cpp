#include "item_reader.h"

#include "text.h"

#include <drift/answers.h>
#include <drift/error.h>

#include <algorithm>

namespace drift::dataset {
namespace {

const Json& need(const Record& record, const std::string& column, const std::string& parameter) {
  const Json* value = find_column(record.fields, column);
  if (value == nullptr) throw MissingColumn(column, parameter);
  return *value;
}

const std::string& need_text(const Json& value, const std::string& column) {
  if (!value.is_string()) throw Error("`" + column + "` is not a text");
  return value.get_ref<const std::string&>();
}

const Json* find(const Json& record, const char* field) {
  const auto found = record.find(field);
  return found == record.end() ? nullptr : &*found;
}

bool is_texts(const Json* value) {
  return value != nullptr && value->is_array() && !value->empty() &&
         std::all_of(value->begin(), value->end(), [](const Json& text) { return text.is_string(); });
}

std::string fault_of_function_tests(const Json& record) {
  const Json* tests = find(record, "test_list");
  if (!is_texts(tests)) return "`test_list` is not a list of one or more texts";
  const bool empty = std::any_of(tests->begin(), tests->end(),
                                 [](const Json& test) { return trimmed(test.get_ref<const std::string&>()).empty(); });
  return empty ? "a text of `test_list` is empty" : "";
}

std::string fault_of_stdio_tests(const Json& record) {
  const Json *input = find(record, "test_input"), *output = find(record, "test_output");
  if (!is_texts(input)) return "`test_input` is not a list of one or more texts";
  if (!is_texts(output)) return "`test_output` is not a list of one or more texts";
  if (input->size() == output->size()) return "";
  return "`test_input` has " + std::to_string(input->size()) + " texts, `test_output` " +
         std::to_string(output->size());
}

std::string fault_of_tests(const Json& record, const char* method) {
  if (const Json* named = find(record, "test_method"); named != nullptr && *named != method)
    return "`test_method` is " + named->dump() + ", not \"" + method + "\"";
  if (const Json* limit = find(record, "test_time_limit");
      limit != nullptr && !(limit->is_number() && limit->get<double>() > 0))
    return "`test_time_limit` is not a number of seconds above 0";
  return std::string_view(method) == "function" ? fault_of_function_tests(record) : fault_of_stdio_tests(record);
}

std::string fault_of_countdown(const Json* truth) {
  const auto is_integer = [](const Json* value) { return value != nullptr && value->is_number_integer(); };
  const Json* numbers = truth != nullptr && truth->is_object() ? find(*truth, "numbers") : nullptr;
  const bool right = numbers != nullptr && numbers->is_array() && !numbers->empty() &&
                     std::all_of(numbers->begin(), numbers->end(), [&](const Json& n) { return is_integer(&n); }) &&
                     is_integer(find(*truth, "target"));
  return right ? "" : R"(the truth is not {"target": 23, "numbers": [30, 100, 93]})";
}

// Why the tests or the truth of a record are not what its type needs, empty if they are. A type that is not known asks
// for nothing. `type` is "math", "sudoku", "countdown", "code_function" or "code_stdio", `truth` the column with the
// right answer, null if there is none.
std::string fault(const Json& record, const std::string& type, const Json* truth) {
  if (type == "code_function") return fault_of_tests(record, "function");
  if (type == "code_stdio") return fault_of_tests(record, "stdio");
  if (type == "countdown") return fault_of_countdown(truth);
  return "";
}

}  // namespace

ItemReader::ItemReader(const Settings& settings)
    : settings_(settings),
      question_(settings.question_template, "question_template"),
      prefix_(settings.prefix_template, "prefix_template") {
  if (settings.answer_boxed && !settings.answer_after.empty())
    throw Error("`answer_after` and `answer_boxed` are both set", "set only one of them");
}

TaskItem ItemReader::item(const Record& record) const {
  TaskItem item;
  item.id = record.place.file + ":" + std::to_string(record.place.record);
  if (!settings_.id_column.empty()) item.id = text_of(need(record, settings_.id_column, "id_column"));
  Conversation asked = conversation(record);
  item.prompt = std::move(asked.question);
  item.earlier_turns = std::move(asked.earlier_turns);
  item.reference = reference(record);
  item.response_prefix = prefix(record);
  if (!settings_.demonstration_column.empty()) {
    const std::string& column = settings_.demonstration_column;
    item.demonstration = need_text(need(record, column, "demonstration_column"), column);
    if (item.demonstration.empty()) throw Error("`" + column + "` is empty");
  }
  return item;
}

Wanted ItemReader::wanted() const {
  Wanted wanted{.whole_records = settings_.reference == "record", .parquet_mib = settings_.parquet_mib};
  for (const std::string* columns :
       {&settings_.question_column, &settings_.reference_column, &settings_.id_column, &settings_.prefix_column,
        &settings_.demonstration_column, &settings_.solved_share_column})
    add_fields(*columns, wanted.columns);
  for (const Template* text : {&question_, &prefix_}) {
    for (const std::string& column : text->columns()) add_fields(column, wanted.columns);
  }
  for (const char* of_types : {"data_type", "test_list", "test_input", "test_output", "test_method", "test_time_limit"})
    wanted.columns.insert(of_types);
  return wanted;
}

std::string ItemReader::question(const Record& record) const { return conversation(record).question; }

Conversation ItemReader::conversation(const Record& record) const {
  const std::string& column = settings_.question_column;
  check_turns(record.fields, question_.empty() ? std::vector{column} : question_.columns());
  Conversation asked;
  if (!question_.empty()) {
    asked.question = question_.fill(record.fields);
  } else if (const Json& value = need(record, column, "question_column"); is_messages(value)) {
    asked = read_conversation(value, column);
  } else if (value.is_string()) {
    asked.question = value.get<std::string>();
  } else {
    throw Error("`" + column + R"(` is not a text, nor a list of {"role": "user", "content": "…"})");
  }
  if (trimmed(asked.question).empty())
    throw Error(question_.empty() ? "`" + column + "` is empty" : "the question is empty");
  return asked;
}

std::string ItemReader::reference(const Record& record) const {
  const Json* truth = find_column(record.fields, settings_.reference_column);
  const auto own_type = record.fields.find("data_type");
  const bool says_it = own_type != record.fields.end() && own_type->is_string();
  const std::string why = fault(record.fields, says_it ? own_type->get<std::string>() : settings_.data_type, truth);
  if (!why.empty()) throw Error(why);
  if (settings_.reference == "record") return record.fields.dump();
  if (truth == nullptr) throw MissingColumn(settings_.reference_column, "reference_column");
  return answer(*truth);
}

std::string ItemReader::answer(const Json& value) const {
  const std::string& column = settings_.reference_column;
  Json truth = value;
  for (std::size_t i = 0; truth.is_array() && i < truth.size(); ++i) {
    if (truth[i].is_number()) truth[i] = text_of(truth[i]);  // as text, [3, 4] would be an interval
  }
  std::string text = text_of(truth);
  if (!settings_.answer_after.empty()) {
    text = after_last(text, settings_.answer_after);
    if (text.empty()) throw Error("`" + column + "` has nothing after `" + settings_.answer_after + "`");
  }
  if (settings_.answer_boxed) {
    const MarkedAnswer box = last_box(text);
    text = box.closed ? std::string(trimmed(*box.content)) : "";
    if (text.empty()) throw Error("`" + column + "` has no answer in \\boxed{}");
  }
  if (trimmed(text).empty()) throw Error("`" + column + "` is empty");
  return text;
}

std::string ItemReader::prefix(const Record& record) const {
  if (!prefix_.empty()) return prefix_.fill(record.fields);
  if (settings_.prefix_column.empty()) return {};
  const Json* value = find_column(record.fields, settings_.prefix_column);
  return value == nullptr ? std::string() : need_text(*value, settings_.prefix_column);
}

}  // namespace drift::dataset
