#pragma once

#include <drift/component.h>
#include <drift/params.h>
#include <drift/random.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// Which hidden row predicts the token at position j.
enum class PredictionRow : std::uint32_t {
  kSame = 0,      ///< row j
  kPrevious = 1,  ///< row j - 1: a head trained for next-token prediction; position 0 is never predicted
  /// As kPrevious in rollouts; where log-probabilities are scored, the response's first position takes its own row and
  /// the others row j - 1. A model declares it only to repeat results that were computed so.
  kPreviousWithinResponse = 2,
};

/// How a family's text marks whose turn it is. Special tokens are written as the tokenizer writes them.
struct ChatFormat {
  std::string name;            ///< "chat" is the authors' own; a family may have others
  std::string opening;         ///< before the first turn
  std::string turn_begin;      ///< "{role}" stands for system, user or assistant
  std::string turn_end;        ///< after a turn's text
  std::string reply_begin;     ///< opens the turn that the model is to write
  std::string default_system;  ///< text of a system turn where the conversation begins with none; empty: none is added
  bool trims_text = false;     ///< white space around a turn's text is dropped
};

/// What a backbone declares so that nobody else hard-codes it.
struct ModelTraits {
  std::string family;                ///< for messages
  std::int64_t vocabulary_size = 0;  ///< V: rows of the LM head
  std::int64_t hidden_size = 0;      ///< H
  std::int64_t layers = 0;
  std::int64_t context_length = 0;  ///< longest prompt + response, in tokens
  std::int64_t mask_id = -1;
  std::int64_t pad_id = -1;  ///< pads prompts on the left and ends responses; never counted as a valid token
  std::int64_t end_id = -1;  ///< ends a response; may equal pad_id
  PredictionRow prediction_row = PredictionRow::kSame;
  /// Half-open ranges of ids that a response may never hold, the mask id among them.
  std::vector<std::pair<std::int64_t, std::int64_t>> forbidden_output_ids;
  std::vector<ChatFormat> chat_formats;  ///< the first is the authors' own; empty: a model without turns
};

/// A model as it is opened. `config_json` is the checkpoint's config.json, with the original's own keys.
struct ModelConfig {
  std::string config_json;
  at::ScalarType dtype = at::kFloat;  ///< of parameters and hidden states: float32, bfloat16, or float64 for checks
  at::Device device = at::kCPU;       ///< meta: shapes and traits only, no memory is taken
};

/// A parameter under its name in the checkpoint. The tensor is the model's own storage, not a copy.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// B sequences of S tokens, prompt and response in one row.
struct ForwardInput {
  at::Tensor tokens_BS;    ///< int64
  at::Tensor key_mask_BS;  ///< bool, false = padding that no query attends to; undefined: no padding
  at::Tensor rows_N;       ///< int64 indices b * S + s of the hidden rows that are wanted; undefined: all B * S
  /// Keep no more than each block's input for the backward and compute the rest again there. A model may ignore it.
  bool recompute_blocks = false;
};

/// A backbone: everything up to the LM head. Registered with a constructor (const ModelConfig&, const Params&) that
/// allocates its parameters; the core then reads them from the checkpoint by name, or calls initialize().
///
/// Contract: positions count from the first token that the key mask keeps, so that row b of a batch gives what the same
/// sequence gives alone (up to rounding). Attention is bidirectional.
class DRIFT_API Model : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kModel;

  virtual const ModelTraits& traits() const = 0;

  /// Final hidden states, after the last norm, at the wanted rows: [N, H]. Differentiable with respect to parameters()
  /// where gradients are enabled. Safe to call from several threads at once.
  virtual at::Tensor forward(const ForwardInput& input) const = 0;

  /// Weight of the LM head, [V, H]; logits are hidden @ weight^T. The core applies it, at scored rows only.
  virtual at::Tensor lm_head_VH() const = 0;

  /// Every tensor of the checkpoint, in a fixed order. Leaf tensors.
  virtual std::vector<NamedTensor> parameters() const = 0;

  /// Fill the parameters with the family's own random initialisation.
  virtual void initialize(const RandomStream& random) = 0;

  /// Bytes that one row of `sequence` tokens needs between forward and backward (activations kept for the gradient),
  /// without the LM head. An estimate on the high side; the core chooses its micro-batches by it.
  virtual std::int64_t training_bytes_per_row(std::int64_t sequence) const = 0;
};

/// Keys and values of every layer for a batch of B sequences, as an earlier forward left them.
struct KeyValueCache {
  std::int64_t attended = 0;          ///< queries attend to positions [0, attended); set by whoever owns the cache
  at::Tensor key_mask_BS;             ///< bool, as in ForwardInput; undefined: no padding
  std::vector<at::Tensor> keys_BGSD;  ///< one a layer, rotated; G key heads of dimension D
  std::vector<at::Tensor> values_BGSD;
};

/// A backbone that can compute a window of positions against kept keys and values. The host asks for it with
/// dynamic_cast; a model without it computes whole sequences.
class DRIFT_API WindowModel : public Model {
 public:
  /// An empty cache for B sequences of S positions.
  virtual KeyValueCache make_cache(std::int64_t batch, std::int64_t sequence) const = 0;

  /// Hidden states of the W tokens at positions [begin, begin + W): their keys and values replace those in the cache,
  /// then they attend to positions [0, cache.attended). `input.tokens_BS` is [B, W], `input.rows_N` counts in it, and
  /// the cache's key mask counts instead of the input's. With begin = 0 and all tokens it is forward() and fills the
  /// cache: a prefix cache keeps `begin` where the block starts and all that follows in the window; a horizon lowers
  /// `attended` to the window's end; a dual cache forwards the block alone and attends to everything. No gradients.
  virtual at::Tensor forward_window(const ForwardInput& input, std::int64_t begin, KeyValueCache& cache) const = 0;
};

}  // namespace drift
