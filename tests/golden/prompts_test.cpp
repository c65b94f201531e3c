// Every file of configs/prompts with every backbone's turns, byte by byte.

#include <core/rollout/prompt_encoder.h>

#include <core/config/document.h>
#include <core/config/schema.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"

namespace drift::prompts_test {

using Values = std::map<std::string, Parameter::Value>;

/// `[prompt]` of configs/prompts/FILE.toml.
Values prompt_file(const std::string& file) {
  Values values;
  for (const ConfigLayer& layer : load_document(test::source_dir() / "configs/prompts" / (file + ".toml"), {}).layers) {
    for (const auto& [key, leaf] : layer.leaves) {
      EXPECT_THAT(key, testing::StartsWith("prompt.")) << file;
      values[key.substr(7)] = *leaf.value;
    }
  }
  return values;
}

std::string render(const Values& values, const std::string& family, const std::string& question,
                   const std::string& item_prefix = {}) {
  static const Tokenizer tokenizer = Tokenizer::open(test::source_dir() / "assets/sudoku-llada");
  const auto model = test::open_checkpoint(family, test::source_dir() / "tests/golden/data/ckpt" / (family + "_a"));
  TaskItem item;
  item.prompt = question;
  item.response_prefix = item_prefix;
  return PromptEncoder(settings_from<PromptSettings>(Parameters(declared_keys<PromptSettings>(), values)), tokenizer,
                       model->traits())
      .render(item);
}

struct Golden {
  const char* file;
  const char* llada;  ///< empty: the file is for the other backbone
  const char* dream;
};

// The question is " Q?\n": formats that trim do so around all the words, not around the question alone.
constexpr Golden kGolden[] = {
    {"math",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>You need to put your final answer in \\boxed{}. This is "
     "the problem:\n Q?\n<|eot_id|><|startoftext|><|start_header_id|>assistant<|end_header_id|>",
     "<|im_start|>user\nYou need to put your final answer in \\boxed{}. This is the problem:\n Q?\n<|im_end|>\n"
     "<|im_start|>assistant"},
    {"code",
     "<|startoftext|><|start_header_id|>user<|end_header_id|> Q?\n\nPlace your code within a single Python code block "
     "```python ```. Do not include more than one code block. <|eot_id|><|startoftext|>"
     "<|start_header_id|>assistant<|end_header_id|>",
     "<|im_start|>user\n Q?\n\nPlace your code within a single Python code block ```python ```. Do not include more "
     "than one code block. <|im_end|>\n<|im_start|>assistant"},
    {"puzzle",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>This is the problem:\n Q?\n<|eot_id|><|startoftext|>"
     "<|start_header_id|>assistant<|end_header_id|>",
     "<|im_start|>user\nThis is the problem:\n Q?\n<|im_end|>\n<|im_start|>assistant"},
    {"chat",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nQ?<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n",
     "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n Q?\n<|im_end|>\n"
     "<|im_start|>assistant\n"},
    {"paper-math",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>You need to put your final answer in \\boxed{}. This is "
     "the problem:\n Q?\n<|eot_id|><|startoftext|><|start_header_id|>assistant<|end_header_id|>",
     "<|im_start|>user\nYou need to put your final answer in \\boxed{}. This is the problem:\n Q?\n<|im_end|>\n"
     "<|im_start|>assistant"},
    {"paper-code",
     "<|startoftext|><|start_header_id|>user<|end_header_id|> Q?\n\nPlace your code within a single Python code block "
     "```python ```.\nDo not include more than one code block.<|eot_id|><|startoftext|>"
     "<|start_header_id|>assistant<|end_header_id|>",
     "<|im_start|>user\n Q?\n\nPlace your code within a single Python code block ```python ```.\nDo not include more "
     "than one code block.<|im_end|>\n<|im_start|>assistant"},
    {"paper-puzzle",
     "<|startoftext|><|start_header_id|>user<|end_header_id|> Q?\n<|eot_id|><|startoftext|>"
     "<|start_header_id|>assistant<|end_header_id|>",
     "<|im_start|>user\n Q?\n<|im_end|>\n<|im_start|>assistant"},
    {"d1-gsm8k-train",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nRespond in the following format:\n<reasoning>\n...\n"
     "</reasoning>\n<answer>\n...\n</answer>\n\n\n Q?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
     "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n\nRespond in the following format:"
     "\n<reasoning>\n...\n</reasoning>\n<answer>\n...\n</answer>\n\n\n Q?\n<|im_end|>\n<|im_start|>assistant\n"},
    {"d1-math-train",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nRespond in the following format:\n<reasoning>\n...\n"
     "</reasoning>\n<answer>\n...\n</answer>\n\n\nYou are a math expert. You will be given a question to solve. Solve "
     "it step by step. Wrap the final answer in a \\boxed{}. \n\n Q?<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n",
     "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n\nRespond in the following format:"
     "\n<reasoning>\n...\n</reasoning>\n<answer>\n...\n</answer>\n\n\nYou are a math expert. You will be given a "
     "question to solve. Solve it step by step. Wrap the final answer in a \\boxed{}. \n\n Q?\n<|im_end|>\n"
     "<|im_start|>assistant\n"},
    {"d1-gsm8k-eval",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nYou are a math expert. You will be given a question "
     "to "
     "solve. Solve it step by step. Wrap the final answer in a \\boxed{}. \nRespond in the following format:\n"
     "<reasoning>\nYour reasoning here\n</reasoning>\n<answer>\n\\boxed{...}\n</answer>\n\n Q?<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n<reasoning>",
     "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nYou are a math expert. You will be "
     "given a question to solve. Solve it step by step. Wrap the final answer in a \\boxed{}. \nRespond in the "
     "following format:\n<reasoning>\nYour reasoning here\n</reasoning>\n<answer>\n\\boxed{...}\n</answer>\n\n Q?\n"
     "<|im_end|>\n<|im_start|>assistant\n<reasoning>"},
    {"d1-math-eval",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nYou are a math expert. You will be given a question "
     "to "
     "solve. Solve it step by step. Wrap the final answer in a \\boxed{}.\nRespond in the following format:\n"
     "<reasoning>\nYour reasoning here\n</reasoning>\n<answer>\n\\boxed{...}\n</answer>\" \n\n\n Q?<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n<reasoning>",
     "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nYou are a math expert. You will be "
     "given a question to solve. Solve it step by step. Wrap the final answer in a \\boxed{}.\nRespond in the "
     "following format:\n<reasoning>\nYour reasoning here\n</reasoning>\n<answer>\n\\boxed{...}\n</answer>\" \n\n\n Q?"
     "\n<|im_end|>\n<|im_start|>assistant\n<reasoning>"},
    {"d1-puzzle-eval",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nQ?<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n<reasoning>",
     "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n Q?\n<|im_end|>\n"
     "<|im_start|>assistant\n<reasoning>"},
    {"espo-math",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nQ?\n\nPlease reason step by step, and put your final "
     "answer within \\boxed{}.<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
     "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n Q?\n\nPlease reason step by step, "
     "and put your final answer within \\boxed{}.<|im_end|>\n<|im_start|>assistant\n"},
    {"espo-code",
     "<|startoftext|><|start_header_id|>system<|end_header_id|>\n\nYou are a helpful assistant. When you output code, "
     "it must be in a single fenced code block using triple backticks (```) and the language specifier (e.g., "
     "```python). The code block must appear as the last part of your response and end with a newline after the "
     "closing "
     "backticks (```). Do not include any text after the code block. Do not include extra code blocks or explanations "
     "outside the final code block.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nQ?<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n",
     "<|im_start|>system\nYou are a helpful assistant. When you output code, it must be in a single fenced code block "
     "using triple backticks (```) and the language specifier (e.g., ```python). The code block must appear as the "
     "last "
     "part of your response and end with a newline after the closing backticks (```). Do not include any text after "
     "the "
     "code block. Do not include extra code blocks or explanations outside the final code block.<|im_end|>\n"
     "<|im_start|>user\n Q?\n<|im_end|>\n<|im_start|>assistant\n"},
    {"tracerl-dream-math", "",
     "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nYou need to put your final answer "
     "in \\boxed{}. This is the problem:\n Q?\n<|im_end|>\n<|im_start|>assistant"},
    {"tracerl-llada-stdio",
     "<|startoftext|><|start_header_id|>user<|end_header_id|>This is the problem:\n Q?\n\n You should put your code in "
     "```python ```. Use input() to read input and print() to produce output in your script. <|eot_id|>"
     "<|startoftext|><|start_header_id|>assistant<|end_header_id|>",
     ""},
};

TEST(PromptFiles, RenderTheOriginalsBytes) {
  for (const Golden& golden : kGolden) {
    const Values values = prompt_file(golden.file);
    for (const auto& [family, text] : {std::pair("llada", golden.llada), std::pair("dream", golden.dream)}) {
      if (*text == 0) continue;
      EXPECT_EQ(render(values, family, " Q?\n"), text) << golden.file;
    }
  }
}

TEST(PromptFiles, AreAllHere) {
  std::set<std::string> files, golden;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "configs/prompts")) {
    files.insert(entry.path().stem());
  }
  for (const Golden& one : kGolden) golden.insert(one.file);
  EXPECT_EQ(golden, files);
}

// What Jinja takes away is back with trailing_newline; a format that ends in line ends already has no more of them.
TEST(PromptFiles, TheTemplatesLastNewlineIsAnOption) {
  for (const Golden& golden : kGolden) {
    Values values = prompt_file(golden.file);
    values["trailing_newline"] = true;
    const bool is_chat = std::get<std::string>(values["format"]) == "chat";
    for (const auto& [family, text] : {std::pair("llada", golden.llada), std::pair("dream", golden.dream)}) {
      if (*text == 0) continue;
      EXPECT_EQ(render(values, family, " Q?\n"), std::string(text) + (is_chat ? "" : "\n")) << golden.file;
    }
  }
}

TEST(PromptFiles, AnItemsOwnFirstWordsReplaceTheFilesOnes) {
  const Values values = prompt_file("d1-math-eval");
  EXPECT_THAT(render(values, "dream", "Q?"), testing::EndsWith("assistant\n<reasoning>"));
  EXPECT_THAT(render(values, "dream", "Q?", "Here it is:\n"), testing::EndsWith("assistant\nHere it is:\n"));
}

// The texts as they were collected from the originals' code and the paper, with the files' own.
class CollectedPrompts : public testing::Test {
 protected:
  std::string text(const std::string& name) const { return texts_.at(name); }
  static std::string value(const std::string& file, const std::string& key) {
    return std::get<std::string>(prompt_file(file).at(key));
  }
  /// `text` with {{problem}}, {problem} and {SYSTEM} filled in.
  std::string filled(std::string text) const {
    const auto put = [&](const std::string& name, const std::string& value) {
      const auto at = text.find(name);
      if (at != std::string::npos) text.replace(at, name.size(), value);
    };
    put("{{problem}}", "{question}");
    put("{problem}", "{question}");
    put("{SYSTEM}", this->text("d1_train_system"));
    return text;
  }

  const nlohmann::json texts_ =
      nlohmann::json::parse(test::read_file(test::source_dir() / "tests/golden/data/prompts.json")).at("texts");
};

TEST_F(CollectedPrompts, OfRldfReleaseAndTraceRl) {
  const std::map<std::string, std::tuple<std::string, std::string>> names = {
      {"rldf_release_llada", {"puzzle", "llada"}},
      {"rldf_release_dream", {"puzzle", "dream"}},
      {"rldf_release_llada_math", {"math", "llada"}},
      {"rldf_release_dream_math", {"math", "dream"}},
      {"rldf_release_llada_code", {"code", "llada"}},
      {"rldf_release_dream_code", {"code", "dream"}},
      {"tracerl_dream_math", {"tracerl-dream-math", "dream"}},
      {"tracerl_llada_stdio", {"tracerl-llada-stdio", "llada"}}};
  for (const auto& [name, one] : names) {
    Values values = prompt_file(std::get<0>(one));
    values["trailing_newline"] = true;
    EXPECT_EQ(render(values, std::get<1>(one), "{question}"), filled(text(name))) << name;
  }
}

TEST_F(CollectedPrompts, OfD1AndEspo) {
  EXPECT_EQ(value("d1-gsm8k-train", "instruction"), filled(text("d1_train_gsm8k")));
  EXPECT_EQ(value("d1-math-train", "instruction"), filled(text("d1_train_math")));
  EXPECT_EQ(value("d1-gsm8k-eval", "instruction"), text("d1_eval_gsm8k") + "\n\n{question}");
  EXPECT_EQ(value("d1-math-eval", "instruction"), text("d1_eval_math500") + "\n\n{question}");
  EXPECT_EQ(value("espo-math", "instruction"), text("espo_gsm8k_math"));
  EXPECT_EQ(value("espo-code", "system"), text("espo_code_system"));
}

TEST_F(CollectedPrompts, OfThePaper) {
  EXPECT_EQ(value("paper-math", "instruction"), filled(text("paper_math")));
  EXPECT_EQ(value("paper-code", "instruction"), filled(text("paper_code")));
}

}  // namespace drift::prompts_test
