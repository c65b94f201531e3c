// From a question to a prompt: instruction, turns, first words of the response, token ids, padding.

#include <core/rollout/prompt_encoder.h>
#include <core/rollout/response_text.h>

#include <core/config/schema.h>

#include <drift/error.h>

#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

namespace drift::prompt_encoder_test {

using testing::HasSubstr;
using Values = std::map<std::string, Parameter::Value>;

class Prompt : public testing::Test {
 protected:
  Prompt() {
    traits_.family = "Tiny";
    traits_.pad_id = 0;
    traits_.context_length = 30;
    traits_.chat_formats = {{.name = "chat",
                             .opening = {},
                             .turn_begin = "[{role}] ",
                             .turn_end = ".\n",
                             .reply_begin = "[assistant] ",
                             .default_system = {},
                             .trims_text = true}};
  }

  PromptEncoder encoder(const Values& values = {}) const {
    return PromptEncoder(settings_from<PromptSettings>(Parameters(declared_keys<PromptSettings>(), values)), tokenizer_,
                         traits_);
  }
  static TaskItem item(const std::string& question, const std::string& response_prefix = {},
                       const std::string& earlier_turns = {}) {
    TaskItem item;
    item.id = "item-7";
    item.prompt = question;
    item.response_prefix = response_prefix;
    item.earlier_turns = earlier_turns;
    return item;
  }
  std::string mistake(const Values& values) const {
    return mistake([&] { encoder(values); });
  }
  template <class Use>
  static std::string mistake(const Use& use) {
    return test::error_of(use);
  }

  Tokenizer tokenizer_ = Tokenizer::open(test::source_dir() / "assets/sudoku-llada");
  ModelTraits traits_;
};

TEST_F(Prompt, IsTheQuestionItselfByDefault) {
  EXPECT_EQ(encoder().render(item(" 1 + 1 ")), " 1 + 1 ");
  EXPECT_EQ(encoder().render(item("1 + 1", " = ")), "1 + 1 = ");
}

TEST_F(Prompt, PutsWordsAndTurnsAroundTheQuestion) {
  const auto chat = encoder({{"format", "chat"}, {"instruction", "Solve {question} now"}});
  EXPECT_EQ(chat.render(item("1 + 1")), "[user] Solve 1 + 1 now.\n[assistant] ");
  EXPECT_EQ(chat.render(item("1 + 1", "It is")), "[user] Solve 1 + 1 now.\n[assistant] It is");
}

TEST_F(Prompt, MayBeginWithASystemTurn) {
  EXPECT_EQ(encoder({{"format", "chat"}, {"system", "Be brief"}}).render(item("1 + 1")),
            "[system] Be brief.\n[user] 1 + 1.\n[assistant] ");
}

TEST_F(Prompt, MayBeTheEndOfAConversation) {
  const std::string shown = R"([{"role": "user", "content": "1 + 1"}, {"role": "assistant", "content": "2"}])";
  const auto chat = encoder({{"format", "chat"}, {"system", "Be brief"}, {"instruction", "Solve {question}"}});
  EXPECT_EQ(chat.render(item("1 + 2", "It is", shown)),
            "[system] Be brief.\n[user] 1 + 1.\n[assistant] 2.\n[user] Solve 1 + 2.\n[assistant] It is");
  EXPECT_EQ(chat.render(item("1 + 2", "", R"([{"role": "system", "content": "Add"}])")),
            "[system] Add.\n[user] Solve 1 + 2.\n[assistant] ")
      << "the item knows better";
  EXPECT_THAT(mistake([&] { encoder().ids(item("1 + 2", "", shown)); }),
              HasSubstr("item `item-7` is a conversation of several turns, and [prompt] format is \"none\""));
  for (const char* turns : {"{", "[1]", R"([{"role": "user"}])", R"([{"role": "user", "content": 1}])"})
    EXPECT_THAT(mistake([&] { chat.ids(item("1 + 2", "", turns)); }), HasSubstr("the earlier turns of item `item-7`"));
}

TEST_F(Prompt, HasBracesAsATemplateHasThem) {
  const auto made = [&](const char* instruction) {
    return encoder({{"instruction", instruction}}).render(item("1{{"));
  };
  EXPECT_EQ(made("{question} in \\boxed{{}}, {{\"a\": 1}}"), "1{{ in \\boxed{}, {\"a\": 1}");
  EXPECT_EQ(made("{question} in \\boxed{}"), "1{{ in \\boxed{}") << "as the shipped prompts have it";
  EXPECT_THAT(mistake({{"instruction", "{question} in \\boxed{\\text{A}}"}}),
              HasSubstr("write {{ and }} for all of them"));
  EXPECT_THAT(mistake({{"instruction", "{{question}}"}}), HasSubstr("has no {question}"));
}

TEST_F(Prompt, DoesNotBeginTheResponseWithAMask) {
  traits_.mask_id = tokenizer_.encode("<|mask|>")[0];
  EXPECT_THAT(mistake({{"response_prefix", "12<|mask|>"}}),
              HasSubstr("[prompt] response_prefix has the mask token `<|mask|>`"));
  EXPECT_THAT(mistake([&] { encoder().ids(item("1", "<|mask|>")); }), HasSubstr("item `item-7`: its response prefix"));
}

TEST_F(Prompt, MayBeginTheResponse) {
  const auto begun = encoder({{"format", "chat"}, {"response_prefix", "Well, "}});
  EXPECT_EQ(begun.render(item("1 + 1")), "[user] 1 + 1.\n[assistant] Well, ");
  EXPECT_EQ(begun.render(item("1 + 1", "It is")), "[user] 1 + 1.\n[assistant] It is") << "the item knows better";
  EXPECT_EQ(encoder({{"response_prefix", " = "}}).render(item("1 + 1")), "1 + 1 = ");
}

TEST_F(Prompt, MayHaveTheReplyOnASeparateLine) {
  EXPECT_EQ(encoder({{"format", "chat"}, {"trailing_newline", true}}).render(item("1 + 1", "It is")),
            "[user] 1 + 1.\n[assistant] \nIt is");
  traits_.chat_formats[0].reply_begin = "[assistant]\n";
  EXPECT_EQ(encoder({{"format", "chat"}, {"trailing_newline", true}}).render(item("1 + 1")),
            "[user] 1 + 1.\n[assistant]\n");
}

TEST_F(Prompt, SpecialTokensInAQuestionAreControlIdsUnlessTheyAreText) {
  const auto separator = tokenizer_.encode("<|sep|>")[0];
  EXPECT_THAT(encoder().ids(item("1<|sep|>")), testing::ElementsAre(tokenizer_.encode("1")[0], separator));
  // This small vocabulary cannot spell the token as text, which shows that it is tried.
  EXPECT_THROW(encoder({{"special_tokens", "text"}}).ids(item("1<|sep|>")), Error);
  // What the format brings stays special.
  traits_.chat_formats = {{.name = "chat",
                           .opening = "<|startoftext|>",
                           .turn_begin = {},
                           .turn_end = "<|sep|>",
                           .reply_begin = {},
                           .default_system = {},
                           .trims_text = true}};
  const Values as_text = {{"format", "chat"}, {"special_tokens", "text"}};
  EXPECT_EQ(encoder(as_text).ids(item(" 12 ", "3")), tokenizer_.encode("<|startoftext|>12<|sep|>3"));
  auto begun = as_text;
  begun["response_prefix"] = "<|sep|>4";
  begun["trailing_newline"] = true;
  EXPECT_EQ(encoder(begun).ids(item(" 12 ")), tokenizer_.encode("<|startoftext|>12<|sep|>\n<|sep|>4"));
  const std::string turn = R"([{"role": "user", "content": "3"}])",
                    special = R"([{"role": "user", "content": "<|sep|>"}])";
  EXPECT_EQ(encoder(as_text).ids(item("12", "", turn)), tokenizer_.encode("<|startoftext|>3<|sep|>12<|sep|>"));
  EXPECT_THROW(encoder(as_text).ids(item("12", "", special)), Error);
}

TEST_F(Prompt, MistakesSayWhatToDo) {
  EXPECT_THAT(mistake({{"format", "chta"}}),
              testing::AllOf(HasSubstr("unknown chat format `chta`"), HasSubstr("did you mean `chat`?"),
                             HasSubstr("chat formats of Tiny: none, chat")));
  EXPECT_THAT(mistake({{"instruction", "Solve it"}}), HasSubstr("write {question} where the question belongs"));
  EXPECT_THAT(mistake({{"system", "Be brief"}}), HasSubstr("[prompt] system needs a chat format"));
  EXPECT_THAT(mistake({{"trailing_newline", true}}), HasSubstr("[prompt] trailing_newline needs a chat format"));
}

TEST_F(Prompt, IsPaddedOnTheLeftOncePerResponse) {
  std::vector<TaskItem> items(2);
  items[0].prompt = "12";
  items[1].prompt = "1234";
  const auto prompts = encoder().encode(items, /*group_size=*/2, /*response_length=*/8);
  ASSERT_EQ(prompts.tokens_BP.sizes(), (std::vector<std::int64_t>{4, 4}));
  EXPECT_TRUE(prompts.mask_BP.sum(1).equal(at::tensor(std::vector<std::int64_t>{2, 2, 4, 4})));
  EXPECT_EQ(prompts.tokens_BP[1][0].item<std::int64_t>(), 0);
  EXPECT_EQ(prompts.tokens_BP[1][2].item<std::int64_t>(), tokenizer_.encode("1")[0]);
  EXPECT_TRUE(prompts.group_B.equal(at::tensor(std::vector<std::int64_t>{0, 0, 1, 1})));
}

TEST_F(Prompt, WhatAModelWritesWithoutATokenIsShownAsUnknown) {
  auto ids = tokenizer_.encode("12");
  ids.insert(ids.begin() + 1, tokenizer_.vocabulary_size() + 5);
  ids.push_back(tokenizer_.vocabulary_size());
  EXPECT_EQ(written_text(ids, tokenizer_, true), "1\uFFFD2\uFFFD");
  EXPECT_EQ(written_text({}, tokenizer_, true), "");
}

TEST_F(Prompt, ThatDoesNotFitIsNamed) {
  std::vector<TaskItem> items(1);
  items[0].id = "item-7";
  items[0].prompt = std::string(25, '1');
  EXPECT_THAT(mistake([&] { encoder().encode(items, 1, 8); }),
              HasSubstr("item `item-7` has 25 tokens; with 8 of the response"));
}

}  // namespace drift::prompt_encoder_test
