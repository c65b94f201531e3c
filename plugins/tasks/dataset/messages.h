#pragma once

#include "record.h"

#include <string>

namespace drift::dataset {

/// A list of messages, {"role": "user", "content": "…"}, taken apart at its last user turn.
struct Conversation {
  std::string earlier_turns;  ///< what is before that turn, as TaskItem has it
  std::string question;       ///< that turn
};

/// Whether the value is a list whose first element looks like a message.
bool is_messages(const Json& value);

/// The number of the last user turn; the list's size if there is none.
std::size_t last_user_turn(const Json& messages);

/// @param column  its name, for messages
/// @throws Error if there is no user turn, a role is not system, user or assistant, or a content no text.
Conversation read_conversation(const Json& messages, const std::string& column);

}  // namespace drift::dataset
