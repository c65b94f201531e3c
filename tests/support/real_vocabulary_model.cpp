#include "tests/support/real_vocabulary_model.h"

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/base/component_host.h>
#include <core/io/checkpoint.h>

#include <drift/model.h>
#include <drift/random.h>

#include <ATen/core/grad_mode.h>

namespace drift::test {
namespace {

namespace fs = std::filesystem;

void copy_vocabulary(const fs::path& folder) {
  for (const char* file : {"vocab.json", "merges.txt"}) write_file(folder / file, read_file(data_file("qwen") / file));
  nlohmann::json added;
  const std::map<int, const char*> tokens = {{151643, "<|endoftext|>"},
                                             {151644, "<|im_start|>"},
                                             {151645, "<|im_end|>"},
                                             {151665, "<|beginoftext|>"},
                                             {151666, "<|mask|>"}};
  for (const auto& [id, text] : tokens) added[std::to_string(id)] = {{"content", text}, {"special", true}};
  write_file(folder / "tokenizer_config.json", nlohmann::json{{"added_tokens_decoder", added}}.dump());
}

}  // namespace

void write_real_vocabulary_model(const fs::path& folder) {
  nlohmann::json config = nlohmann::json::parse(read_file(source_dir() / "assets/sudoku-dream/config.json"));
  config.update({{"hidden_size", 16},
                 {"num_hidden_layers", 1},
                 {"num_attention_heads", 2},
                 {"num_key_value_heads", 2},
                 {"intermediate_size", 32},
                 {"vocab_size", 152064},
                 {"max_position_embeddings", 4096},
                 {"max_window_layers", 1},
                 {"bos_token_id", 151643},
                 {"eos_token_id", 151643},
                 {"pad_token_id", 151643},
                 {"mask_token_id", 151666}});
  const ComponentEntry* entry = load_plugin("dream").find(ComponentKind::kModel, "dream");
  const ModelConfig made{config.dump(), at::kFloat, at::kCPU};
  const std::unique_ptr<Component> component = host().make(*entry, Parameters(entry->params, {}), &made);
  auto& model = dynamic_cast<Model&>(*component);
  const at::NoGradGuard no_gradient;
  model.initialize(RandomStream(1, "weights"));
  const TemporaryFolder vocabulary;
  copy_vocabulary(vocabulary.path());
  save_checkpoint_folder(folder, model.parameters(), config.dump(), vocabulary.path());
}

}  // namespace drift::test
