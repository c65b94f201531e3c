#include "item.h"

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace drift::code {
namespace {

using nlohmann::json;

// What the judge takes in one message, and far more than any item has.
constexpr std::size_t kMaxTextBytes = 512 << 10;
constexpr double kMaxTimeLimit = 600;

class Record {
 public:
  explicit Record(const drift::TaskItem& item)
      : id_(item.id), json_(json::parse(item.reference, nullptr, /*allow_exceptions=*/false)) {
    if (!json_.is_object()) fail("is not a JSON object");
  }

  [[noreturn]] void fail(const std::string& fault) const {
    throw drift::Error("reward `code` cannot read the reference of item " + id_ + ": it " + fault,
                       R"(a reference is {"test_list": ["assert f(1) == 2"]}, {"test_input": ["1\n"], "test_output": )"
                       R"(["2\n"]}, or {"prompt": …, "test": …, "entry_point": "f"})");
  }

  bool has(const char* name) const { return json_.contains(name) && !json_[name].is_null(); }

  std::string text(const char* name) const {
    if (!has(name)) return {};
    if (!json_[name].is_string()) fail(std::string("has a `") + name + "` that is not a text");
    return checked(json_[name].get<std::string>(), name);
  }

  std::vector<std::string> texts(const char* name) const {
    if (!has(name)) return {};
    std::vector<std::string> result;
    if (!json_[name].is_array()) fail(std::string("has a `") + name + "` that is not a list of texts");
    for (const json& value : json_[name]) {
      if (!value.is_string()) fail(std::string("has a `") + name + "` that is not a list of texts");
      result.push_back(checked(value.get<std::string>(), name));
    }
    return result;
  }

  double time_limit() const {
    if (!has("test_time_limit")) return 1;
    const json& value = json_["test_time_limit"];
    const double seconds = value.is_number() ? value.get<double>() : 0;
    if (!(seconds > 0 && seconds <= kMaxTimeLimit)) fail("has a `test_time_limit` that is not in (0, 600] seconds");
    return seconds;
  }

 private:
  std::string checked(std::string text, const char* name) const {
    if (text.size() > kMaxTextBytes) fail(std::string("has a `") + name + "` of more than 512 KiB");
    return text;
  }

  const std::string id_;
  const json json_;
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void read_program(const Record& record, Item& item) {
  item.kind = Item::Kind::kProgram;
  item.inputs = record.texts("test_input");
  item.outputs = record.texts("test_output");
  if (item.inputs.empty()) record.fail("has no `test_input`");
  if (item.inputs.size() != item.outputs.size()) {
    record.fail("has " + std::to_string(item.inputs.size()) + " inputs and " + std::to_string(item.outputs.size()) +
                " outputs");
  }
}

// Of `Solution().add` what a response must define.
std::string leading_name(const std::string& entry_point) {
  return entry_point.substr(0, entry_point.find_first_of(".( "));
}

void read_functions(const Record& record, Item& item) {
  item.setup = joined(record.texts("test_imports")) + record.text("test_setup_code");
  item.tests = record.texts("test_list");
  for (std::string& test : record.texts("challenge_test_list")) item.tests.push_back(std::move(test));
  if (item.tests.empty()) record.fail("has no tests");
  item.entry_point = leading_name(record.text("entry_point"));
}

// A text that defines check(candidate); the prompt is code, which the response may simply continue.
void read_check(const Record& record, Item& item) {
  const std::string name = record.text("entry_point");
  if (name.empty()) record.fail("has a `test` without an `entry_point`");
  item.entry_point = leading_name(name);
  item.tests = {record.text("test") + "\n\ncheck(" + name + ")\n"};
  item.prompt = record.text("prompt");
  if (item.prefix.empty() && !item.prompt.empty()) item.prefix = "```python\n" + item.prompt;
}

}  // namespace

Item read_item(const drift::TaskItem* task_item) {
  if (task_item == nullptr) throw drift::Error("reward `code` got a response without an item");
  const Record record(*task_item);
  Item item;
  item.prefix = task_item->response_prefix.empty() ? record.text("prefix") : task_item->response_prefix;
  item.time_limit = record.time_limit();
  const std::string method = record.text("test_method");
  const bool program = record.has("test_input") || record.has("test_output");
  if (!method.empty() && method != (program ? "stdio" : "function")) {
    record.fail("has the `test_method` \"" + method + "\", which does not fit its tests");
  }
  if (program) {
    read_program(record, item);
  } else if (record.has("test")) {
    read_check(record, item);
  } else {
    read_functions(record, item);
  }
  return item;
}

}  // namespace drift::code
