// Prompts as the families' own templates and rldf_release render them, character by character, and the ids of
// one of them.

#include <core/text/chat.h>
#include <core/text/tokenizer.h>

#include <core/config/document.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"

#include <drift/model.h>

#include <gmock/gmock.h>

namespace drift::chat_test {
namespace {

using testing::ElementsAre;

ChatFormat format_of(const std::string& family, const std::string& name) {
  const auto model = test::open_checkpoint(family, test::source_dir() / "tests/golden/data/ckpt" / (family + "_a"));
  for (const ChatFormat& format : model->traits().chat_formats) {
    if (format.name == name) return format;
  }
  throw std::runtime_error(family + " has no chat format " + name);
}

std::string render_chat(const ChatFormat& format, const std::vector<ChatTurn>& turns,
                        const std::string& reply_prefix = {}) {
  std::string text;
  for (const PromptPart& part : chat_parts(format, turns, reply_prefix)) text += part.text;
  return text;
}

/// The user's turn of configs/prompts/KIND.toml around a question, as rldf_release has it.
std::string task_prompt(const std::string& family, const std::string& kind, const std::string& question,
                        const std::string& reply_prefix = {}) {
  const auto document = load_document(test::source_dir() / "configs/prompts" / (kind + ".toml"), {});
  const auto value = [&](const std::string& key) {
    for (const ConfigLayer& layer : document.layers) {
      const auto leaf = layer.leaves.find("prompt." + key);
      if (leaf != layer.leaves.end()) return std::get<std::string>(*leaf->second.value);
    }
    throw std::runtime_error("no prompt." + key);
  };
  return render_chat(format_of(family, value("format")), {{"user", fill_instruction(value("instruction"), question)}},
                     reply_prefix);
}

TEST(ChatTemplate, OfLladaTrimsAndOpensTheReply) {
  EXPECT_EQ(render_chat(format_of("llada", "chat"), {{"user", " \u3000What is 2+3?\n"}}),
            "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nWhat is 2+3?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(ChatTemplate, OfLladaWithSeveralTurns) {
  EXPECT_EQ(render_chat(format_of("llada", "chat"),
                        {{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello."}, {"user", "2+3?"}}),
            "<|startoftext|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n2+3?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(ChatTemplate, OfDreamAddsASystemTurnAndTrimsNothing) {
  EXPECT_EQ(render_chat(format_of("dream", "chat"), {{"user", " Hi\n"}}),
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
            "<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(render_chat(format_of("dream", "chat"), {{"system", "Be brief."}, {"user", "Hi"}}),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

// A question is put in as it is: not trimmed, and what looks like a placeholder or markup stays.
constexpr const char* kQuestion = " {question} costs $2 + 3$?\n";

TEST(TaskPrompt, OfLlada) {
  EXPECT_EQ(
      task_prompt("llada", "math", kQuestion),
      "<|startoftext|><|start_header_id|>user<|end_header_id|>You need to put your final answer in \\boxed{}. This "
      "is the problem:\n {question} costs $2 + 3$?\n<|eot_id|><|startoftext|>"
      "<|start_header_id|>assistant<|end_header_id|>");
  EXPECT_EQ(
      task_prompt("llada", "code", kQuestion),
      "<|startoftext|><|start_header_id|>user<|end_header_id|> {question} costs $2 + 3$?\n\nPlace your code within "
      "a single Python code block ```python ```. Do not include more than one code block. <|eot_id|>"
      "<|startoftext|><|start_header_id|>assistant<|end_header_id|>");
  EXPECT_EQ(task_prompt("llada", "puzzle", kQuestion),
            "<|startoftext|><|start_header_id|>user<|end_header_id|>This is the problem:\n {question} costs $2 + 3$?\n"
            "<|eot_id|><|startoftext|><|start_header_id|>assistant<|end_header_id|>");
}

TEST(TaskPrompt, OfDream) {
  EXPECT_EQ(task_prompt("dream", "math", kQuestion),
            "<|im_start|>user\nYou need to put your final answer in \\boxed{}. This is the problem:\n {question} costs "
            "$2 + 3$?\n<|im_end|>\n<|im_start|>assistant");
  EXPECT_EQ(task_prompt("dream", "code", kQuestion),
            "<|im_start|>user\n {question} costs $2 + 3$?\n\nPlace your code within a single Python code block "
            "```python ```. Do not include more than one code block. <|im_end|>\n<|im_start|>assistant");
  EXPECT_EQ(task_prompt("dream", "puzzle", kQuestion),
            "<|im_start|>user\nThis is the problem:\n {question} costs $2 + 3$?\n<|im_end|>\n<|im_start|>assistant");
}

TEST(TaskPrompt, MayBeginTheReply) {
  EXPECT_THAT(task_prompt("dream", "code", "Add.", "Here is the completed code:\n```python\n"),
              testing::EndsWith("<|im_start|>assistantHere is the completed code:\n```python\n"));
}

TEST(TaskPrompt, HasTheIdsOfThePublishedTokenizer) {
  if (const auto missing = test::missing_data({"qwen/tokenizer.json"}); !missing.empty()) GTEST_SKIP() << missing;
  const auto tokenizer = Tokenizer::open(test::data_file("qwen"));
  EXPECT_THAT(tokenizer.encode(task_prompt("dream", "math", "What is $2 + 3$?")),
              ElementsAre(151644, 872, 198, 2610, 1184, 311, 2182, 697, 1590, 4226, 304, 1124, 79075, 46391, 1096, 374,
                          279, 3491, 510, 3838, 374, 400, 17, 488, 220, 18, 3, 30, 151645, 198, 151644, 77091));
}

}  // namespace
}  // namespace drift::chat_test
