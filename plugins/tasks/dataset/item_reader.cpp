#include "item_reader.h"

#include <drift/error.h>

#include "data_type.h"
#include "text.h"

namespace dataset {
namespace {

drift::Error missing(const std::string& column) { return drift::Error("`" + column + "` is missing"); }

const Json& need(const Record& record, const std::string& column) {
  const Json* value = find_column(record.fields, column);
  if (value == nullptr) throw missing(column);
  return *value;
}

const std::string& need_text(const Json& value, const std::string& column) {
  if (!value.is_string()) throw drift::Error("`" + column + "` is not a text");
  return value.get_ref<const std::string&>();
}

}  // namespace

ItemReader::ItemReader(const Settings& settings)
    : settings_(settings),
      question_(settings.question_template, "question_template"),
      prefix_(settings.prefix_template, "prefix_template") {
  if (settings.answer_boxed && !settings.answer_after.empty())
    throw drift::Error("`answer_after` and `answer_boxed` are both set", "set only one of them");
}

drift::TaskItem ItemReader::item(const Record& record) const {
  drift::TaskItem item;
  item.id = record.place.file + ":" + std::to_string(record.place.record);
  if (!settings_.id_column.empty()) item.id = text_of(need(record, settings_.id_column));
  item.prompt = question(record);
  item.reference = reference(record);
  item.response_prefix = prefix(record);
  if (!settings_.demonstration_column.empty()) {
    item.demonstration = need_text(need(record, settings_.demonstration_column), settings_.demonstration_column);
    if (item.demonstration.empty()) throw drift::Error("`" + settings_.demonstration_column + "` is empty");
  }
  return item;
}

std::string ItemReader::question(const Record& record) const {
  const std::string& column = settings_.question_column;
  const std::string question =
      question_.empty() ? need_text(need(record, column), column) : question_.fill(record.fields);
  if (trimmed(question).empty())
    throw drift::Error(question_.empty() ? "`" + column + "` is empty" : "the question is empty");
  return question;
}

std::string ItemReader::reference(const Record& record) const {
  const Json* truth = find_column(record.fields, settings_.reference_column);
  const auto own_type = record.fields.find("data_type");
  const bool says_it = own_type != record.fields.end() && own_type->is_string();
  const std::string why = fault(record.fields, says_it ? own_type->get<std::string>() : settings_.data_type, truth);
  if (!why.empty()) throw drift::Error(why);
  if (settings_.reference == "record") return record.fields.dump();
  if (truth == nullptr) throw missing(settings_.reference_column);
  return answer(*truth);
}

std::string ItemReader::answer(const Json& value) const {
  const std::string& column = settings_.reference_column;
  std::string text = text_of(value);
  if (!settings_.answer_after.empty()) {
    text = after_last(text, settings_.answer_after);
    if (text.empty()) throw drift::Error("`" + column + "` has nothing after `" + settings_.answer_after + "`");
  }
  if (settings_.answer_boxed) {
    text = last_boxed(text);
    if (text.empty()) throw drift::Error("`" + column + "` has no answer in \\boxed{}");
  }
  if (trimmed(text).empty()) throw drift::Error("`" + column + "` is empty");
  return text;
}

std::string ItemReader::prefix(const Record& record) const {
  if (!prefix_.empty()) return prefix_.fill(record.fields);
  if (settings_.prefix_column.empty()) return {};
  const Json* value = find_column(record.fields, settings_.prefix_column);
  return value == nullptr ? std::string() : need_text(*value, settings_.prefix_column);
}

}  // namespace dataset
