// Prompts as the families' own templates and rldf_release render them, character by character, and the ids of
// one of them.

#include <core/text/chat.h>
#include <core/text/tokenizer.h>

#include <core/config/document.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"

#include <drift/model.h>

namespace drift::chat_test {

using testing::ElementsAre;

ChatFormat format_of(const std::string& family, const std::string& name) {
  const auto model = test::open_checkpoint(family, test::source_dir() / "tests/golden/data/ckpt" / (family + "_a"));
  for (const ChatFormat& format : model->traits().chat_formats) {
    if (format.name == name) return format;
  }
  throw std::runtime_error(family + " has no chat format " + name);
}

std::string render_chat(const ChatFormat& format, const std::vector<ChatTurn>& turns) {
  std::string text;
  for (const PromptPart& part : chat_parts(format, turns, {})) text += part.text;
  return text;
}

TEST(ChatTemplate, OfLladaTrimsAndOpensTheReplyAfterAnyNumberOfTurns) {
  EXPECT_EQ(render_chat(format_of("llada", "chat"), {{"user", " \u3000What is 2+3?\n"}}),
            "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nWhat is 2+3?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
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

// The user's turn of a file in configs/prompts; the words of all files: prompts_test.
TEST(ChatTemplate, OfATaskHasTheIdsOfThePublishedTokenizer) {
  if (const auto missing = test::missing_data({"qwen/tokenizer.json"}); !missing.empty()) GTEST_SKIP() << missing;
  const auto tokenizer = Tokenizer::open(test::data_file("qwen"));
  const auto document = load_document(test::source_dir() / "configs/prompts/math.toml", {});
  const auto value = [&](const std::string& key) {
    for (const ConfigLayer& layer : document.layers) {
      const auto leaf = layer.leaves.find("prompt." + key);
      if (leaf != layer.leaves.end()) return std::get<std::string>(*leaf->second.value);
    }
    throw std::runtime_error("no prompt." + key);
  };
  const std::string instruction = fill_instruction(value("instruction"), "What is $2 + 3$?");
  EXPECT_THAT(tokenizer.encode(render_chat(format_of("dream", value("format")), {{"user", instruction}})),
              ElementsAre(151644, 872, 198, 2610, 1184, 311, 2182, 697, 1590, 4226, 304, 1124, 79075, 46391, 1096, 374,
                          279, 3491, 510, 3838, 374, 400, 17, 488, 220, 18, 3, 30, 151645, 198, 151644, 77091));
}

}  // namespace drift::chat_test
