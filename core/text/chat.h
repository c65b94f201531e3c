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
};

/// The conversation as the model reads it, up to where its reply begins. `reply_prefix` are the first words of the
/// reply, given to the model.
std::string render_chat(const ChatFormat& format, const std::vector<ChatTurn>& turns,
                        std::string_view reply_prefix = {});

/// `instruction` with every "{question}" replaced by the question, which is not looked at for placeholders.
std::string fill_instruction(std::string_view instruction, std::string_view question);

}  // namespace drift
