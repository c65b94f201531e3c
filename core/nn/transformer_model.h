#pragma once

#include <drift/cached_forward.h>
#include <drift/model.h>

#include <core/nn/block_weights.h>
#include <core/nn/key_value_cache.h>
#include <core/nn/model_adapters.h>
#include <core/nn/packed_weights.h>
#include <core/nn/transformer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace drift::nn {

/// Which projections of a block add a bias.
struct ProjectionBiases {
  bool query = false, key = false, value = false, attention_out = false;
  bool gate = false, up = false, down = false;
};

/// Where blocks have experts, and how many.
struct ExpertShape {
  ExpertChoice choice;            ///< no experts: all blocks are dense
  std::int64_t first_layer = 0;   ///< blocks before it are dense
  std::int64_t feed_forward = 0;  ///< width of each
  std::int64_t shared = 0;        ///< width of the feed-forward of all tokens beside them; 0: none
  bool bias = false;              ///< whether the choice has one

  bool are_in(std::int64_t layer) const { return choice.experts > 0 && layer >= first_layer; }
};

/// The settings that determine the shapes and the numbers of a backbone of transformer blocks.
struct TransformerShape {
  std::int64_t vocabulary = 0;  ///< rows of the embedding and of the head
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dimension = 0;  ///< 0: hidden / heads
  std::int64_t feed_forward = 0;    ///< width of a dense block's
  ExpertShape experts;
  std::int64_t context_length = 0;
  double norm_epsilon = 0;
  bool norm_weight_before_rounding = false;  ///< of every norm: kernels::NormWeight
  double rotary_theta = 0;
  std::int64_t rotary_dimension = 0;  ///< that many of a head's components are turned, its first; 0: all
  bool rotary_in_model_type = false;  ///< angles and rotation rounded to the model's type; else in float32
  ProjectionBiases bias;
  bool query_key_norm = false;     ///< RMS norms over each head of queries and keys, before the rotation
  bool tied_head = false;          ///< the embedding is the LM head
  std::int64_t padding_row = -1;   ///< row of the embedding that a lookup gives no gradient; -1: none
  bool attend_to_padding = false;  ///< key masks are not used, as some originals do; a row then depends on its padding
};

/// Names of a family's tensors in its checkpoints. `{layer}` is the block's number, `{expert}` the expert's, from 0.
/// The bias of a projection NAME.weight is NAME.bias.
struct TensorNames {
  std::string embedding, final_norm, head;
  std::string attention_norm, query, key, value, attention_out;
  std::string query_key_value;  ///< all in one, instead of query, key and value: the heads of each, one after another
  std::string query_norm, key_norm;  ///< with query_key_norm
  std::string feed_forward_norm, gate, up, down;
  std::string router, router_bias, expert_gate, expert_up, expert_down;  ///< with experts
  std::string shared_gate, shared_up, shared_down;
};

/// The name with a layer's number in it.
std::string layer_name(const std::string& name, std::size_t layer);

/// A backbone of pre-norm blocks with rotary angles, RMS norms and SwiGLU. A family adds its traits, its config.json
/// and its random initialisation, most of them by a description (described_model.h). Every projection of its blocks can
/// have an adapter.
class TransformerModel : public Model,
                         public CachedForward,
                         public BlockAttention,
                         public Adapters,
                         public BlockWeightsOnDemand,
                         public PackedWeights {
 public:
  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return embedding_VH_.device(); }
  at::ScalarType dtype() const override { return embedding_VH_.scalar_type(); }
  at::Tensor forward(const ForwardInput& input) const override;
  at::Tensor lm_head_VH() const override { return shape_.tied_head ? embedding_VH_ : head_VH_; }
  std::vector<NamedTensor> parameters() const override;
  std::vector<NamedTensor> adapter_parameters() const override;
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override;
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override;
  at::Tensor forward_window(const ForwardInput& input, const CacheWindow& window, KeyValueCache& cache) const override;
  std::vector<NamedTensor> block_parameters(std::int64_t layer) const override;
  std::int64_t first_block_with_gradient() const override;
  void take_blocks_from(std::shared_ptr<BlockSource> source) override { source_ = std::move(source); }
  BlockSource* block_source() const override { return source_.get(); }
  void pack(const std::string& name, const at::Tensor& weight) override;
  std::int64_t packed_values() const override;
  std::int64_t packed_bytes() const override;

 protected:
  /// Allocates the parameters. `traits` without what the shape says: vocabulary_size, hidden_size, layers and
  /// context_length are filled in.
  TransformerModel(const TransformerShape& shape, const TensorNames& names, ModelTraits traits,
                   const ModelConfig& config);

  const TransformerShape& shape() const { return shape_; }

 private:
  using MakeTensor = std::function<at::Tensor(at::IntArrayRef sizes)>;

  BlockWeights make_block(std::int64_t layer, const MakeTensor& parameter, const MakeTensor& matrix) const;
  void add_adapters(const AdapterMaker& adapters);
  void add_block(std::size_t layer, std::vector<NamedTensor>& named) const;
  at::Tensor run_blocks(const ForwardInput& input, const RotaryTable& rotary, const AttentionMask& attention_mask,
                        TransformerCache* cache, const CachePlaces* places) const;
  std::shared_ptr<const AttentionTiles> tiles(const BlockStructure& structure, const at::Tensor& begin_B,
                                              std::int64_t queries) const;
  void check_length(std::int64_t sequence) const;
  /// Whether rows of equal keys are attended to together: on the CPU a bias is as fast, and its numbers are frozen.
  bool has_runs() const { return !device().is_cpu(); }
  std::int64_t sum_of_packed(const std::function<std::int64_t(std::int64_t values)>& each) const;

  kernels::NormWeight norm_weight() const {
    return shape_.norm_weight_before_rounding ? kernels::NormWeight::kBeforeRounding
                                              : kernels::NormWeight::kAfterRounding;
  }
  std::int64_t head_dimension() const {
    return shape_.head_dimension > 0 ? shape_.head_dimension : shape_.hidden / shape_.heads;
  }

  TransformerShape shape_;
  Packing packing_;
  TensorNames names_;
  ModelTraits traits_;
  at::Tensor embedding_VH_;
  std::vector<BlockWeights> blocks_;
  std::map<std::string, Projection*> projections_;  // of the blocks, by the name of the weight
  std::vector<NamedTensor> adapters_;
  at::Tensor final_norm_H_;
  at::Tensor head_VH_;  // undefined when tied to the embedding
  RotaryTable rotary_;
  std::shared_ptr<BlockSource> source_;  // null: all blocks are there
  mutable std::mutex one_forward_;       // where they are brought
};

}  // namespace drift::nn
