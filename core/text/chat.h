#pragma once

#include <drift/model.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// One turn of a conversation.
struct ChatTurn {
  std::string role;  ///< system, user or assistant
  std::string text;
  bool is_plain = false;  ///< special tokens in it are text like any other
};

/// The turns of TaskItem::earlier_turns. @param whose  the item, for messages
/// @throws Error if they are not what drift/task.h says
std::vector<ChatTurn> read_turns(const std::string& json, const std::string& whose);

/// A piece of a prompt.
struct PromptPart {
  std::string text;
  bool is_plain = false;
};

/// The conversation as the model reads it, up to where its reply begins: what the format brings between the words of
/// plain turns. `reply_prefix` are the first words of the reply, given to the model, behind what the format has for a
/// reply without thinking unless the model `may_think`.
std::vector<PromptPart> chat_parts(const ChatFormat& format, const std::vector<ChatTurn>& turns,
                                   std::string_view reply_prefix = {}, bool may_think = true);

/// `instruction` with every "{question}" replaced by the question, which is not looked at for placeholders. Where it
/// has {{ or }}, these are braces; elsewhere a brace is itself.
/// @throws Error if it has both {{ or }} and single braces
std::string fill_instruction(std::string_view instruction, std::string_view question);

}  // namespace drift
