#include <core/nn/draft_description.h>

#include <core/nn/config_reader.h>

#include <drift/error.h>
#include <drift/params.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace drift::nn {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Words = std::vector<std::string>;

/// Words of other programs for a word of descriptions, the usual ones first.
struct Known {
  std::string word;
  Words others;
};

const std::vector<Known> kKeyNames = {
    {"hidden", {"hidden_size", "d_model", "n_embd", "dim"}},
    {"layers", {"num_hidden_layers", "n_layers", "n_layer", "num_layers"}},
    {"heads", {"num_attention_heads", "n_heads", "n_head", "num_heads"}},
    {"kv_heads", {"num_key_value_heads", "n_kv_heads", "num_kv_heads"}},
    {"head_dimension", {"head_dim", "head_size"}},
    {"feed_forward", {"intermediate_size", "mlp_hidden_size", "ffn_dim", "ffn_hidden_size"}},
    {"vocabulary", {"embedding_size", "vocab_size", "n_vocab"}},
    {"context", {"max_position_embeddings", "max_sequence_length", "n_positions", "max_seq_len"}},
    {"norm_epsilon", {"rms_norm_eps", "norm_eps", "layer_norm_eps", "norm_epsilon"}},
    {"rotary_theta", {"rope_theta", "rotary_base", "rope_base"}},
    {"rotary_part", {"partial_rotary_factor", "rotary_pct"}},
    {"tied_head", {"tie_word_embeddings", "weight_tying"}},
    {"mask", {"mask_token_id", "mask_id"}},
    {"pad", {"pad_token_id"}},
    {"end", {"eos_token_id"}},
    {"block", {"block_size", "bd_size", "block_length", "diffusion_block_size"}},
};

/// A tensor's name holds one of these, before `.weight`.
const std::vector<Known> kTensorNames = {
    {"embedding", {"embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embedding"}},
    {"final_norm", {"model.norm", "ln_f", "final_norm", "final_layernorm", "norm_f", "norm"}},
    {"head", {"lm_head", "ff_out", "output", "head", "unembed"}},
    {"attention_norm", {"input_layernorm", "attn_norm", "attention_norm", "ln_1", "norm1"}},
    {"query", {"q_proj", "attn.q", "attention.wq", "wq", "query"}},
    {"key", {"k_proj", "attn.k", "attention.wk", "wk", "key"}},
    {"value", {"v_proj", "attn.v", "attention.wv", "wv", "value"}},
    {"attention_out", {"o_proj", "attn_out", "attn.o", "attention.wo", "wo", "out_proj", "attention.dense"}},
    {"query_norm", {"q_norm", "query_layernorm", "q_layernorm"}},
    {"key_norm", {"k_norm", "key_layernorm", "k_layernorm"}},
    {"feed_forward_norm", {"post_attention_layernorm", "ff_norm", "ffn_norm", "ln_2", "norm2", "mlp_norm"}},
    {"gate", {"gate_proj", "ff_proj", "mlp.gate", "feed_forward.w1", "w1", "gate"}},
    {"up", {"up_proj", "mlp.up", "feed_forward.w3", "w3", "up"}},
    {"down", {"down_proj", "mlp.down", "ff_out", "feed_forward.w2", "w2", "down"}},
};

std::string as_toml(const OrderedJson& value) {
  if (value.is_null()) return "\"null\"";
  if (value.is_string()) return to_toml(Parameter::Value(value.get<std::string>()));
  std::string text;
  if (value.is_array()) {
    for (const OrderedJson& one : value) text += (text.empty() ? "" : ", ") + as_toml(one);
    return "[" + text + "]";
  }
  if (value.is_object()) {
    for (const auto& [key, one] : value.items())
      text += (text.empty() ? " " : ", ") + to_toml(Parameter::Value(key)) + " = " + as_toml(one);
    return "{" + text + " }";
  }
  return value.dump();
}

class Draft {
 public:
  Draft(OrderedJson config, const std::map<std::string, std::vector<std::int64_t>>& tensors)
      : config_(std::move(config)) {
    static const std::regex number("\\.[0-9]+\\.");
    for (const auto& [name, sizes] : tensors) {
      const std::string general =
          std::regex_replace(name, number, ".{layer}.", std::regex_constants::format_first_only);
      sizes_[general] = sizes;
      ++count_[general];
    }
    std::istringstream keys(kKeysWithoutEffect);
    for (std::string key; std::getline(keys, key);) placed_.insert(key);
  }

  std::string text(const std::string& family) {
    place_tensors();
    out_ << "# Drafted from a checkpoint's config.json and the names of its tensors. What they do not tell stands "
            "behind "
            "\"TELL\".\n";
    out_ << "family = " << as_toml(family) << "\nsummary = " << as_toml(family + ", a masked diffusion transformer.")
         << "\n\n";
    out_ << "[select]\nmodel_type = " << as_toml(config_.value("model_type", OrderedJson(""))) << "\n\n";
    placed_.insert("model_type");
    write_keys();
    write_bias();
    const bool blocks = keys_.contains("block");
    out_
        << "\n[switches]\n"
        << "predicts = \"same\"  # TELL: \"previous\" if row j - 1 predicts token j, as in models made of causal ones\n"
        << "attention = \"" << (blocks ? "block" : "full") << "\"  # TELL: full, block or either\n"
        << "rotation = \"model_type\"  # TELL: \"float32\" if the original turns queries and keys in float32\n"
        << "norm_weight = \"after_rounding\"  # TELL: \"before_rounding\"; they differ in bfloat16 only\n";
    write_required();
    write_tensors();
    out_ << "\n[forbidden]\nids = [\"mask\"]  # TELL: \"mask_and_above\" if no token comes after the mask token\n"
         << "\n# TELL: how turns are marked, as the tokenizer's chat template has it. Without [[chat]] prompts have no "
            "turns.\n"
         << "# [[chat]]\n# name = \"chat\"\n# turn_begin = \"<|im_start|>{role}\\n\"\n# turn_end = \"<|im_end|>\\n\"\n"
         << "# reply_begin = \"<|im_start|>assistant\\n\"\n"
         << "\n[initialization]  # of a model that is trained from random weights\nscheme = \"normal\"\ndeviation = "
         << as_toml(has("initializer_range") ? config_["initializer_range"] : OrderedJson(0.02)) << "\n";
    return out_.str();
  }

 private:
  bool has(const std::string& key) const { return config_.contains(key) && !config_[key].is_null(); }

  void place_tensors() {
    for (const auto& [word, others] : kTensorNames) {
      const bool whole = word == "embedding" || word == "final_norm" || word == "head";
      for (const std::string& other : others) {
        const auto fits = [&](const auto& one) {
          const bool layered = one.first.find("{layer}") != std::string::npos;
          return layered != whole && !taken_.contains(one.first) && one.first.ends_with(other + ".weight");
        };
        const auto found = std::ranges::find_if(sizes_, fits);
        if (found == sizes_.end()) continue;
        tensors_[word] = found->first;
        taken_.insert(found->first);
        break;
      }
    }
  }

  std::optional<std::int64_t> size_of(const std::string& word, std::size_t dimension) const {
    const auto name = tensors_.find(word);
    if (name == tensors_.end() || sizes_.at(name->second).size() <= dimension) return std::nullopt;
    return sizes_.at(name->second)[dimension];
  }

  /// What the tensors say of a key; nothing if they do not.
  std::optional<std::int64_t> measured(const std::string& word) const {
    if (word == "hidden") return size_of("embedding", 1);
    if (word == "vocabulary") return size_of("embedding", 0);
    if (word == "feed_forward") return size_of("gate", 0);
    if (word == "head_dimension") return size_of("query_norm", 0);
    if (word == "layers" && tensors_.contains("query")) return count_.at(tensors_.at("query"));
    return std::nullopt;
  }

  void write_keys() {
    out_ << "[keys]\n";
    for (const auto& [word, others] : kKeyNames) {
      const auto found = std::ranges::find_if(others, [&](const std::string& key) { return has(key); });
      const auto expected = measured(word);
      std::string note;
      if (found != others.end()) {
        keys_[word] = *found;
        placed_.insert(*found);
        if (expected && config_[*found] != *expected)
          note = "  # TELL: it is " + config_[*found].dump() + ", and the tensors have " + std::to_string(*expected);
        out_ << word << " = \"$" << *found << "\"" << note << "\n";
      } else if (word == "kv_heads") {
        out_ << "kv_heads = \"$" << keys_["heads"] << "\"\n";
      } else if (word == "head_dimension") {
        out_ << "head_dimension = \"$" << keys_["hidden"] << " / $" << keys_["heads"] << "\"\n";
      } else if (word == "tied_head") {
        out_ << "tied_head = " << (tensors_.contains("head") ? "false" : "true") << "\n";
      } else if (word == "rotary_part" || word == "block" || word == "end") {
        continue;
      } else if (expected) {
        out_ << word << " = " << *expected << "  # of the tensors; config.json has no key for it\n";
      } else if (word == "rotary_theta" && config_.contains("rope_parameters")) {
        out_ << "rotary_theta = \"$rope_theta\"\n";
        placed_.insert("rope_parameters");
      } else {
        out_ << "# TELL: " << word << " = a number, or \"$key\" of config.json"
             << (word == "mask" ? "; or run with model.mask_id" : "") << "\n";
      }
    }
    if (keys_.contains("pad"))
      out_ << "padding_row = -1  # TELL: \"$" << keys_["pad"] << "\" if the embedding of padding gets no gradient\n";
    if (tensors_.contains("query_norm")) out_ << "query_key_norm = true\n";
  }

  void write_bias() {
    out_ << "\n[bias]\n";
    for (const char* word : {"query", "key", "value", "attention_out", "gate", "up", "down"}) {
      const auto name = tensors_.find(word);
      if (name == tensors_.end()) continue;
      const std::string bias = name->second.substr(0, name->second.rfind('.')) + ".bias";
      if (!sizes_.contains(bias)) continue;
      taken_.insert(bias);
      out_ << word << " = true\n";
    }
  }

  void write_required() {
    out_ << "\n# TELL what these do: with other values the model may be another one, so only these are taken. A key "
            "that has\n"
            "# no part in the numbers belongs in a list of [without_effect], one that counts in [keys].\n[required]\n";
    for (const auto& [key, value] : config_.items()) {
      // A key that is a word needs no quotes.
      const bool is_word = std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
      if (!placed_.contains(key))
        out_ << (is_word && !key.empty() ? key : to_toml(Parameter::Value(key))) << " = [" << as_toml(value) << "]\n";
    }
    out_ << "\n[without_effect]\n";
  }

  void write_tensors() {
    out_ << "\n[tensors]\n";
    for (const auto& [word, others] : kTensorNames) {
      if (tensors_.contains(word)) {
        out_ << word << " = " << as_toml(tensors_[word]) << "\n";
      } else if (word == "head") {
        out_ << "head = \"lm_head.weight\"  # none is there: the embedding is the head\n";
      } else if (word != "query_norm" && word != "key_norm") {
        out_ << "# TELL: " << word << " = \"its name, with {layer} for the layer's number\"\n";
      }
    }
    bool has_experts = false;
    for (const auto& [name, sizes] : sizes_) {
      if (taken_.contains(name)) continue;
      const bool is_of_expert = name.find(".experts.") != std::string::npos;
      if (!is_of_expert) out_ << "# TELL: what is " << name << " " << OrderedJson(sizes).dump() << "?\n";
      has_experts = has_experts || is_of_expert;
    }
    if (has_experts) out_ << "# TELL: there are experts: [moe], and here their tensors with {expert} for the number\n";
  }

  OrderedJson config_;
  std::map<std::string, std::vector<std::int64_t>> sizes_;  ///< by name, with {layer}
  std::map<std::string, std::int64_t> count_;
  std::map<std::string, std::string> tensors_, keys_;  ///< by the word of descriptions
  std::set<std::string> taken_, placed_;               ///< tensors; keys
  std::ostringstream out_;
};

}  // namespace

std::string draft_description(const std::string& config_json, const std::string& folder_name,
                              const std::map<std::string, std::vector<std::int64_t>>& tensors) {
  OrderedJson config = OrderedJson::parse(config_json, nullptr, false);
  if (!config.is_object()) throw Error("config.json is not a JSON object");
  return Draft(std::move(config), tensors).text(folder_name);
}

}  // namespace drift::nn
