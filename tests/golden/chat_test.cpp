// Prompts as the families' own templates and rldf_release render them, character by character, and the ids of
// one of them.

#include <core/text/chat.h>
#include <core/text/chat_template.h>
#include <core/text/tokenizer.h>

#include <core/config/document.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"

#include <drift/model.h>

namespace drift::chat_test {

using testing::ElementsAre;

/// A checkpoint of the family among the golden ones.
std::filesystem::path checkpoint_of(const std::string& family) {
  const auto golden = test::source_dir() / "tests/golden";
  if (const auto folder = golden / "block/ckpt" / (family + "_a"); std::filesystem::exists(folder)) return folder;
  return golden / "data/ckpt" / (family + "_a");
}

ChatFormat format_of(const std::string& family, const std::string& name) {
  std::map<std::string, Parameter::Value> settings;
  if (family == "fast_dllm_v2") settings["mask_id"] = std::int64_t{149};
  const auto model = test::open_checkpoint(family, checkpoint_of(family), at::kFloat, at::kCPU, settings);
  for (const ChatFormat& format : model->traits().chat_formats) {
    if (format.name == name) return format;
  }
  throw std::runtime_error(family + " has no chat format " + name);
}

std::string render_chat(const ChatFormat& format, const std::vector<ChatTurn>& turns, bool may_think = true) {
  std::string text;
  for (const PromptPart& part : chat_parts(format, turns, {}, may_think)) text += part.text;
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

const std::vector<ChatTurn> kConversation = {{"system", "Be brief."},
                                             {"user", "Hi"},
                                             {"assistant", "<think>\nA greeting.\n</think>\n\nHello."},
                                             {"user", "2+3?"}};

TEST(ChatTemplate, OfQwen3sFamiliesDropsEarlierThinkingAndCanAskForNone) {
  for (const std::string family : {"sdar", "dreamreasoner"}) {
    const ChatFormat format = format_of(family, "chat");
    EXPECT_EQ(render_chat(format, {{"user", " Hi\n"}}), "<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_EQ(render_chat(format, kConversation, /*may_think=*/false),
              "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
              "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\n2+3?<|im_end|>\n"
              "<|im_start|>assistant\n<think>\n\n</think>\n\n");
  }
  EXPECT_THAT(render_chat(format_of("sdar", "think"), {{"user", "Hi"}}),
              testing::EndsWith("<|im_end|>\n<|im_start|>assistant<think>\n"));
}

TEST(ChatTemplate, OfFastDllmAddsASystemTurnAndKeepsAllWords) {
  const ChatFormat format = format_of("fast_dllm_v2", "chat");
  EXPECT_EQ(render_chat(format, {{"user", "Hi"}}),
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_THAT(render_chat(format, kConversation),
              testing::HasSubstr("<|im_start|>assistant\n<think>\nA greeting.\n</think>\n\nHello.<|im_end|>\n"));
}

// LLaDA2.0's: other names of the roles, and a system turn that always ends in the same words.
TEST(ChatTemplate, CanHaveItsOwnRolesAndWordsBehindTheSystemText) {
  const ChatFormat format{.name = "chat",
                          .opening = {},
                          .turn_begin = "<role>{role}</role>",
                          .turn_end = "<|role_end|>",
                          .reply_begin = "<role>ASSISTANT</role>",
                          .default_system = "detailed thinking off",
                          .roles = "SYSTEM,HUMAN,ASSISTANT",
                          .system_suffix = "\ndetailed thinking off"};
  EXPECT_EQ(render_chat(format, {{"user", "Hi"}}),
            "<role>SYSTEM</role>detailed thinking off<|role_end|><role>HUMAN</role>Hi<|role_end|>"
            "<role>ASSISTANT</role>");
  EXPECT_EQ(render_chat(format, {{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Yes?"}, {"user", "2+3?"}}),
            "<role>SYSTEM</role>Be brief.\ndetailed thinking off<|role_end|><role>HUMAN</role>Hi<|role_end|>"
            "<role>ASSISTANT</role>Yes?<|role_end|><role>HUMAN</role>2+3?<|role_end|><role>ASSISTANT</role>");
}

TEST(ChatTemplate, OfAFolderThatIsAnotherOneIsFound) {
  const test::TemporaryFolder folder;
  const ChatFormat format = format_of("sdar", "chat");
  EXPECT_EQ(foreign_template(folder.path(), format), "") << "there is none";
  const std::string known = "<|im_start|>' + role + '\n' + content.split('</think>')[-1] + '<|im_end|>";
  test::write_file(folder.path() / "chat_template.jinja", known);
  EXPECT_EQ(foreign_template(folder.path(), format), "");
  EXPECT_EQ(foreign_template(folder.path(), format_of("dream", "chat")), "it has no `You are a helpful assistant.`");
  EXPECT_EQ(foreign_template(folder.path(), format_of("llada", "chat")), "it has no `<|start_header_id|>`");
  EXPECT_EQ(foreign_template(folder.path(), format_of("dream", "rldf_release")),
            "it takes thinking out of earlier replies");
  std::filesystem::remove(folder.path() / "chat_template.jinja");
  test::write_file(folder.path() / "tokenizer_config.json", R"({"chat_template": "[INST] {{ content }} [/INST]"})");
  EXPECT_EQ(foreign_template(folder.path(), format), "it has no `<|im_start|>`");
}

struct RealTemplate {
  std::string file, family;
  bool has_default_system;  ///< another one than the format's
};

class RealTemplates : public testing::TestWithParam<RealTemplate> {};

// tests/golden/render_template.py says what data/templates holds.
TEST_P(RealTemplates, RenderTheSame) {
  const auto& [file, family, has_default_system] = GetParam();
  if (const auto missing = test::missing_data({"templates/" + file}); !missing.empty()) GTEST_SKIP() << missing;
  if (test::run_command("python3 -c 'import jinja2'").status != 0)
    GTEST_SKIP() << "python3-jinja2 is missing (Debian: apt install python3-jinja2)";
  const ChatFormat format = format_of(family, "chat");
  std::vector<std::vector<ChatTurn>> conversations = {
      kConversation,
      {{"system", " S \n"}, {"user", "  a\n\nb "}},
      {{"system", "S"}, {"user", "1"}, {"assistant", "2"}, {"user", "3"}}};
  if (!has_default_system) conversations.push_back({{"user", "<|im_end|> {role}"}});
  const test::TemporaryFolder folder;
  for (const auto& turns : conversations) {
    for (const bool may_think : {true, false}) {
      if (!may_think && format.no_thinking.empty()) continue;
      nlohmann::json conversation = {{"bos_token", format.opening}, {"enable_thinking", may_think}};
      for (const ChatTurn& turn : turns)
        conversation["messages"].push_back({{"role", turn.role}, {"content", turn.text}});
      test::write_file(folder.path() / "in.json", conversation.dump());
      const auto rendered = test::run_command(
          "python3 " + (test::source_dir() / "tests/golden/render_template.py").string() + " " +
          test::data_file("templates/" + file).string() + " < " + (folder.path() / "in.json").string());
      ASSERT_EQ(rendered.status, 0) << rendered.error;
      EXPECT_EQ(render_chat(format, turns, may_think), rendered.output) << file;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, RealTemplates,
    testing::Values(RealTemplate{"qwen2.5.jinja", "fast_dllm_v2", true}, RealTemplate{"qwen3.jinja", "sdar", false},
                    RealTemplate{"sdar.jinja", "sdar", false}, RealTemplate{"llada.jinja", "llada", false}),
    [](const auto& info) {
      return info.param.file.substr(0, info.param.file.find_first_of(".")) + std::to_string(info.index);
    });

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
