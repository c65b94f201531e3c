#include "data_type.h"

#include <algorithm>

#include "text.h"

namespace dataset {
namespace {

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

}  // namespace

std::string fault(const Json& record, const std::string& type, const Json* truth) {
  if (type == "code_function") return fault_of_tests(record, "function");
  if (type == "code_stdio") return fault_of_tests(record, "stdio");
  if (type == "countdown") return fault_of_countdown(truth);
  return "";
}

}  // namespace dataset
