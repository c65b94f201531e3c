// docs/backbones.md, as printed: a checkpoint of a family that nobody knows, from its folder to a training step.

#include <core/io/safetensors.h>

#include <tests/support/golden_backbones.h>
#include <tests/support/program.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/mm.h>

#include <regex>

namespace drift::backbones_page_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

/// assets/sudoku-dream under other names: of its keys, of its tensors and of itself.
void write_unknown_checkpoint(const fs::path& folder) {
  const fs::path known = source_dir() / "assets/sudoku-dream";
  fs::create_directory(folder);
  for (const char* file : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"})
    fs::copy(known / file, folder / file);
  write_file(folder / "config.json",
             R"({"model_type": "orchid", "n_embd": 64, "n_layer": 4, "n_head": 4, "ffn_dim": 192,
  "vocab_size": 23, "max_seq_len": 64, "norm_eps": 1e-06, "rope_base": 10000.0, "mask_id": 22, "pad_token_id": 19,
  "eos_token_id": 19, "activation": "silu", "dropout": 0.0, "dtype": "float32"})");
  const std::vector<std::pair<std::string, std::string>> words = {
      {"model.embed_tokens", "orchid.wte"}, {"model.norm", "orchid.ln_f"},  {"lm_head", "orchid.unembed"},
      {"model.layers.", "orchid.h."},       {"input_layernorm", "ln_1"},    {"post_attention_layernorm", "ln_2"},
      {"self_attn.q_proj", "attn.q"},       {"self_attn.k_proj", "attn.k"}, {"self_attn.v_proj", "attn.v"},
      {"self_attn.o_proj", "attn.o"},       {"mlp.gate_proj", "mlp.w1"},    {"mlp.up_proj", "mlp.w3"},
      {"mlp.down_proj", "mlp.w2"}};
  const SafetensorsFile weights(known / "model.safetensors");
  std::vector<NamedTensor> renamed;
  for (const auto& entry : weights.entries()) {
    std::string name = entry.name;
    for (const auto& [from, to] : words) {
      if (const auto at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
    }
    renamed.push_back({name, weights.tensor(entry.name)});
  }
  write_safetensors(folder / "model.safetensors", renamed);
}

/// What the original program would write.
void write_reference(const fs::path& file) {
  const auto original = open_checkpoint("dream", source_dir() / "assets/sudoku-dream");
  const auto tokens = at::arange(0, 24, at::kLong).remainder(19).view({2, 12});
  const auto hidden = original->forward({tokens, {}, {}});
  const auto logits = hidden.mm(original->lm_head_VH().t()).view({2, 12, -1});
  write_safetensors(file, {{"input_ids", tokens}, {"logits", logits.detach().contiguous()}});
}

struct Block {
  std::string kind, text;
};

std::vector<Block> blocks_of_page() {
  std::vector<Block> blocks;
  std::istringstream page(read_file(source_dir() / "docs/backbones.md"));
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), {}});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

class BackbonesPage : public Test, public ProgramFolder {
 protected:
  BackbonesPage() {
    write_unknown_checkpoint(path("orchid"));
    write_reference(path("logits.safetensors"));
    for (const char* name : {"configs", "assets"}) fs::create_symlink(source_dir() / name, path(name));
  }
};

TEST_F(BackbonesPage, LeadsFromAFolderToTraining) {
  for (const auto& [kind, text] : blocks_of_page()) {
    if (kind == "toml") {
      write("orchid-run.toml", text);
      continue;
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("drift train"))
        line += " --set train.steps=1 --set train.prompts_per_step=2 --set evaluation.items=4 --out runs/orchid";
      const auto result = run_command("cd " + path().string() + " && export PATH=" + (build_dir() / "bin").string() +
                                      ":$PATH && " + line);
      ASSERT_EQ(result.status, 0) << line << "\n" << result.output << result.error;
      if (line.starts_with("drift model verify")) EXPECT_THAT(result.output, HasSubstr("kept"));
    }
  }
  EXPECT_TRUE(fs::exists(path("runs/orchid/metrics.jsonl")));
}

TEST_F(BackbonesPage, AWrongGuessShows) {
  ASSERT_EQ(drift("model describe orchid > orchid.toml").status, 0);
  write("other.toml", std::regex_replace(read_file(path("orchid.toml")), std::regex("attn.v.weight"), "attn.k.weight"));
  EXPECT_THAT(drift("model info orchid --set model.description=other.toml"), mistake("is also another tensor's name"));
  write("other.toml", std::regex_replace(read_file(path("orchid.toml")), std::regex("(\\nup = .*?)w3"), "$1w9"));
  EXPECT_THAT(drift("model verify orchid --set model.description=other.toml --reference logits.safetensors"),
              fails("w9.weight"));
}

}  // namespace drift::backbones_page_test
