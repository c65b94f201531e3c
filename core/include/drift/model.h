#pragma once

// A backbone is everything up to the LM head:
//
//     class MyModel final : public drift::Model {
//      public:
//       MyModel(const drift::ModelConfig& config, const drift::Parameters& params);  // allocates the parameters
//       at::Tensor forward(const drift::ForwardInput& in) const override {
//         auto x = at::embedding(embedding_VH_, in.tokens_BS);
//         for (const Layer& layer : layers_) x = layer(x, in.key_mask_BS);
//         x = x.reshape({-1, traits_.hidden_size});
//         return in.rows_N.defined() ? x.index_select(0, in.rows_N) : x;
//       }
//       …
//     };
// Features that only some models have are capabilities (component.h): CachedForward, BlockAttention, Adapters.

#include <drift/component.h>
#include <drift/params.h>
#include <drift/random.h>
#include <drift/reserved.h>

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// Which hidden row predicts the token at position j.
enum class PredictionRow : std::uint32_t {
  kSame = 0,      ///< row j
  kPrevious = 1,  ///< row j - 1: a head trained for next-token prediction; position 0 is never predicted
};

/// How a model family marks the turns of a conversation. Special tokens are written as in the tokenizer.
struct ChatFormat {
  std::string name;                ///< "chat" is the authors' format; a family may have others
  std::string opening;             ///< before the first turn
  std::string turn_begin;          ///< "{role}" stands for system, user or assistant
  std::string turn_end;            ///< after a turn's text
  std::string reply_begin;         ///< opens the turn that the model is to write
  std::string default_system;      ///< text of a system turn if the conversation has none; empty: none is added
  bool trims_text = false;         ///< white space around a turn's text is dropped
  std::string roles = {};          ///< what "{role}" is for system, user and assistant, by commas; empty: these words
  std::string system_suffix = {};  ///< after the text of a system turn, but for default_system
  std::string no_thinking = {};    ///< after reply_begin for a reply without thinking; empty: it cannot be asked for
  Reserved<std::string, 1> reserved_texts = {};
  std::int64_t drops_thinking = 0;  ///< 1: earlier replies begin behind their thinking and the line breaks after it
  Reserved<std::int64_t, 1> reserved_numbers = {};
};

/// What a backbone declares, so that no other code hard-codes it.
struct ModelTraits {
  std::string family;                ///< for messages
  std::int64_t vocabulary_size = 0;  ///< V: rows of the LM head
  std::int64_t hidden_size = 0;      ///< H
  std::int64_t layers = 0;
  std::int64_t context_length = 0;  ///< longest prompt + response, in tokens
  std::int64_t mask_id = -1;
  std::int64_t pad_id = -1;  ///< pads prompts on the left and ends responses; never counted as a valid token
  std::int64_t end_id = -1;  ///< ends a response; may equal pad_id
  std::array<std::int64_t, 4> further_end_ids = {};  ///< 0: none (token 0 can only be end_id)
  PredictionRow prediction_row = PredictionRow::kSame;
  /// Log-probabilities of a response's first token are computed at its own row. Only to repeat results that were
  /// computed that way: rollouts always use prediction_row.
  bool first_scored_at_own_row = false;
  /// Half-open ranges of ids that a response must never contain, including the mask id.
  std::vector<std::pair<std::int64_t, std::int64_t>> forbidden_output_ids;
  std::vector<ChatFormat> chat_formats;  ///< the first is the authors' format; empty: a model without turns
  Reserved<std::string, 4> reserved_texts = {};
  /// Tokens of a block of a model with block attention, which sees its own block and those before it; blocks count from
  /// a text's first token. 0: every token sees all of them.
  std::int64_t block_size = 0;
  Reserved<std::int64_t, 3> reserved_numbers = {};
};

/// All end tokens: end_id, unless that is -1, then further_end_ids.
DRIFT_API std::vector<std::int64_t> end_ids(const ModelTraits& traits);

/// Whether a response ends at this token, so that nothing behind it belongs to it: an end token, or padding.
DRIFT_API bool ends_response(std::int64_t token, const ModelTraits& traits);
/// The same for each of `tokens`: bool, of their shape.
DRIFT_API at::Tensor ends_response(const at::Tensor& tokens, const ModelTraits& traits);

/// What a model is constructed from. `config_json` is the checkpoint's config.json, with the original's keys.
struct ModelConfig {
  std::string config_json;
  at::ScalarType dtype = at::kFloat;  ///< of parameters and hidden states: float32, bfloat16, or float64 for checks
  at::Device device = at::kCPU;       ///< meta: shapes and traits only, without memory
  /// With Adapters only: those to make. Empty: none. Else peft's adapter_config.json, with `r`, `lora_alpha`,
  /// `lora_dropout` and `target_modules`: names of modules in full, or an empty list for all that can have one.
  std::string adapter_json = {};
  /// Of a model that can hold its matrices in fewer bits: "nf4", or "nf4_single" whose scales are not quantised again.
  /// Empty: as `dtype` says.
  std::string quantization = {};
  /// The checkpoint's generation_config.json; empty: it has none.
  std::string generation_config_json = {};
  Reserved<std::string, 1> reserved_texts = {};
  Reserved<std::int64_t, 8> reserved_numbers = {};
};

/// A parameter under its name in the checkpoint. The tensor is the model's own storage, not a copy. One that requires
/// gradients is trained; the others are frozen: read, saved, never changed. Final.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// B sequences of S tokens, prompt and response in one row. On the model's device.
struct ForwardInput {
  at::Tensor tokens_BS;    ///< int64
  at::Tensor key_mask_BS;  ///< bool, false = padding that no query attends to; undefined: no padding
  at::Tensor rows_N;       ///< int64 indices b * S + s of the requested hidden rows; undefined: all B * S
  /// Keep only each block's input for the backward and recompute the rest there. A model may ignore it.
  bool recompute_blocks = false;
  /// int64, with BlockAttention only: the place of each token in its sequence, for rotary angles and the like.
  /// Undefined: 0, 1, 2, … along the row. On the CPU or the model's device; only on the CPU are they compared with the
  /// context's length, for which the host would have to wait.
  at::Tensor positions_BS = {};
  /// int64, on the CPU, with BlockAttention only: a query attends to the keys whose block is not above its own.
  /// Undefined: as ModelTraits::block_size says.
  at::Tensor block_BS = {};
  /// bool, on the CPU, with Adapters only: false = the row sees the weights without adapters. Undefined: all rows with.
  at::Tensor adapted_B = {};
  /// int64, with Adapters only: from a row's key come the inputs that its adapters do not see (dropout). What is left
  /// out is a function of the key, the module and the place. Undefined: nothing is left out.
  at::Tensor dropout_key_B = {};
  /// int64, on the CPU: how many keys at the beginning of each row `key_mask_BS` hides (with a cache: the window's
  /// mask, of the cache's positions). Undefined: not known, or the mask hides others, too. A model may ignore it.
  at::Tensor padding_B = {};
  /// int64, on the CPU, with block_BS only: 0 = the clean text, which attends to itself alone; others are noisy copies
  /// of it, which attend to the clean blocks before their own block, and to their own block of their own copy.
  /// Undefined: all are clean.
  at::Tensor copy_BS = {};
  /// int64, on the CPU, with block_BS only: which of several texts of a row a token belongs to; it attends to that one.
  /// -1: to nothing, and nothing attends to it. Undefined: all are of one text.
  at::Tensor text_BS = {};
  Reserved<at::Tensor, 2> reserved_tensors = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

/// A backbone: everything up to the LM head. Its constructor (const ModelConfig&, const Parameters&), with an optional
/// Host& as the last argument, allocates the parameters; the core then reads them from the checkpoint by name, or calls
/// initialize(). Contract: positions count from the first token that the key mask keeps, so that row b of a batch gives
/// the same as its sequence alone (up to rounding). Attention is bidirectional, within ModelTraits::block_size.
class DRIFT_API Model : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kModel;

  virtual const ModelTraits& traits() const = 0;

  /// Of the parameters: where inputs must be, and the type of hidden states.
  virtual at::Device device() const = 0;
  virtual at::ScalarType dtype() const = 0;

  /// Final hidden states, after the last norm, at the requested rows: [N, H]. Differentiable with respect to
  /// parameters() if gradients are enabled. Safe to call from several threads concurrently.
  virtual at::Tensor forward(const ForwardInput& input) const = 0;

  /// Weight of the LM head, [V, H]; logits are hidden @ weight^T. Only the core reads it, and applies it at scored
  /// rows: losses get log-probabilities, rollouts a Policy.
  virtual at::Tensor lm_head_VH() const = 0;

  /// Every tensor of the checkpoint, in a fixed order. Leaf tensors, the same ones in every call.
  virtual std::vector<NamedTensor> parameters() const = 0;

  /// Fill every parameter with the family's own random initialisation. The caller disables gradients.
  virtual void initialize(const RandomStream& random) = 0;

  /// Bytes that one row of `sequence` tokens needs between forward and backward (activations kept for the gradient),
  /// without the LM head. A generous estimate, from which the core chooses the size of its passes.
  virtual std::int64_t training_bytes_per_row(std::int64_t sequence) const = 0;
};

/// Capability of a model that uses ForwardInput::positions_BS, block_BS, copy_BS and text_BS. Every model with a
/// ModelTraits::block_size has it.
class DRIFT_API BlockAttention {
 public:
  virtual ~BlockAttention() = default;
};

/// Capability of a model that can have low-rank adapters: constructed with ModelConfig::adapter_json, it adds
/// lora_alpha / r B A to the weight of each module that is named there, and requires gradients for A and B alone.
/// ForwardInput::adapted_B switches them off: the frozen weights are then the reference policy, without a copy. The
/// core names the modules (it asks for all first, on the meta device), initialises A and B, reads and saves them.
class DRIFT_API Adapters {
 public:
  virtual ~Adapters() = default;

  /// The adapters' tensors, which are also in Model::parameters(): MODULE.lora_A.weight [r, in] and
  /// MODULE.lora_B.weight [out, r], where MODULE.weight [out, in] is the module's. Empty: it was made without.
  virtual std::vector<NamedTensor> adapter_parameters() const = 0;
};

}  // namespace drift
