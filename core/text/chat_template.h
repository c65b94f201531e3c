#pragma once

#include <drift/model.h>

#include <filesystem>
#include <string>

namespace drift {

/// What speaks against the chat template of a model's folder (chat_template.jinja, or `chat_template` of
/// tokenizer_config.json) being that of a format. It is not run: it must hold the format's marks of turns and its
/// system text, and take thinking out of earlier replies if the format does. Empty: nothing does, or there is no
/// template.
std::string foreign_template(const std::filesystem::path& folder, const ChatFormat& format);

}  // namespace drift
