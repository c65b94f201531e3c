#include <core/boundary/checks.h>
#include <core/text/chat.h>
#include <core/text/utf8.h>

#include <drift/error.h>

#include <string>
#include <utility>

namespace drift {
namespace {

std::string item_name(const TaskItem& item) { return "item `" + valid_utf8(item.id) + "`"; }

}  // namespace

void check_item(const TaskItem& item) {
  if (item.id.empty()) throw Error("an item has no id", "TaskItem::id tells items apart, in every run");
  const std::pair<const char*, const std::string*> texts[] = {{"id", &item.id},
                                                              {"prompt", &item.prompt},
                                                              {"reference", &item.reference},
                                                              {"demonstration", &item.demonstration},
                                                              {"response_prefix", &item.response_prefix},
                                                              {"earlier_turns", &item.earlier_turns}};
  for (const auto& [name, text] : texts) {
    if (!is_valid_utf8(*text)) throw Error("the " + std::string(name) + " of " + item_name(item) + " is not UTF-8");
  }
  if (item.prompt.empty()) throw Error(item_name(item) + " has no prompt", "TaskItem::prompt holds the question");
  read_turns(item.earlier_turns, item_name(item));
}

void check_verdict(const RewardResult& result, const TaskItem& item) {
  const auto wrong = [&](const std::string& what, const std::string& hint) {
    return Error(what + " for " + item_name(item), hint);
  };
  if (!(result.value >= 0 && result.value <= 1))
    throw wrong("the value is " + std::to_string(result.value), "RewardResult::value must lie in [0, 1]");
  if (result.status > RewardStatus::kInfrastructure)
    throw wrong("the status is " + std::to_string(static_cast<std::uint32_t>(result.status)),
                "drift/reward.h lists what RewardStatus can be");
}

}  // namespace drift
