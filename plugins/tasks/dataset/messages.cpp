#include "messages.h"

#include <drift/error.h>

#include <string_view>

namespace drift::dataset {
namespace {

bool is_message(const Json& value) { return value.is_object() && value.contains("role") && value.contains("content"); }

bool has_role(const Json& message, std::string_view role) { return is_message(message) && message["role"] == role; }

std::string fault_of(const Json& message, bool is_first) {
  if (!is_message(message)) return R"(is not {"role": "user", "content": "…"})";
  if (!message["content"].is_string()) return "has a content that is not a text";
  const bool is_known = has_role(message, "user") || has_role(message, "assistant");
  if (is_known || (is_first && has_role(message, "system"))) return "";
  return "has the role " + message["role"].dump() + ": it is user or assistant, of the first also system";
}

}  // namespace

bool is_messages(const Json& value) { return value.is_array() && !value.empty() && is_message(value.front()); }

std::size_t last_user_turn(const Json& messages) {
  std::size_t turn = messages.size();
  while (turn > 0 && !has_role(messages[turn - 1], "user")) --turn;
  return turn == 0 ? messages.size() : turn - 1;
}

Conversation read_conversation(const Json& messages, const std::string& column) {
  const std::size_t last = last_user_turn(messages);
  if (last == messages.size()) throw Error("`" + column + "` has no user turn");
  Json earlier = Json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    if (const std::string fault = fault_of(message, i == 0); !fault.empty())
      throw Error("message " + std::to_string(i + 1) + " of `" + column + "` " + fault);
    if (i < last) earlier.push_back({{"role", message["role"]}, {"content", message["content"]}});
  }
  return {earlier.empty() ? "" : earlier.dump(), messages[last]["content"]};
}

}  // namespace drift::dataset
