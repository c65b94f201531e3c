#pragma once

#include <core/interface/likely_ids.h>

#include <drift/sampling.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace drift {

/// A row of logits is read in tiles of this many ids.
constexpr std::int64_t kSamplingTile = 256;

/// Which ids may be drawn, tile by tile.
class AllowedIds {
 public:
  using Range = std::pair<std::int64_t, std::int64_t>;  ///< half open

  AllowedIds(std::vector<Range> forbidden, std::int64_t vocabulary);

  std::int64_t vocabulary() const { return vocabulary_; }
  std::size_t tiles() const { return begin_.size() - 1; }
  /// No id may be drawn.
  bool none() const { return pieces_.empty(); }
  std::int64_t first() const { return pieces_.front().first; }
  /// Tiles that hold a forbidden id.
  const std::vector<std::size_t>& touched() const { return touched_; }

  template <class Visit>
  void for_ids_of(std::size_t tile, const Visit& visit) const {
    for (std::size_t p = begin_[tile]; p < begin_[tile + 1]; ++p) {
      for (std::int64_t v = pieces_[p].first; v < pieces_[p].second; ++v) visit(v);
    }
  }

 private:
  std::int64_t vocabulary_;
  std::vector<Range> pieces_;       // ascending; none crosses a tile's border
  std::vector<std::size_t> begin_;  // of each tile's pieces
  std::vector<std::size_t> touched_;
};

/// One draw from a row.
struct RowDraw {
  std::int64_t token = 0;
  float logprob = 0;
  float confidence = 0;
};

/// Draws from rows of logits, one row after the other, on one thread. What the draws of a row share is computed when
/// the row begins, in two passes over it. T is float or c10::BFloat16.
template <class T>
class RowSampler {
 public:
  /// Both outlive it.
  RowSampler(const SamplingOptions& options, const AllowedIds& allowed);

  void begin_row(const T* logits);

  /// @param uniform  in [0, 1); not read at temperature 0
  RowDraw draw(double uniform);

 private:
  void find_best();
  void weigh(float reference, float inverse_temperature);
  void leave_out_forbidden();
  template <class Visit>
  void for_likely_tiles(float least, const Visit& visit) const;
  void keep_most_likely(float least);
  void cut();
  void add_up_kept();
  void add_up_tiles();
  float second_largest(std::int64_t largest, bool only_allowed) const;
  float confidence(double second_weight, double total, double weighted) const;
  std::int64_t choose(double uniform);
  double weight(std::int64_t id) const;

  const SamplingOptions& options_;
  const AllowedIds& allowed_;
  const bool of_draw_, has_cut_;
  const float inverse_temperature_;

  const T* logits_ = nullptr;
  float maximum_ = 0;   // of all ids
  double log_sum_ = 0;  // ln sum exp(logit - maximum)
  std::int64_t best_ = 0;
  float best_logit_ = 0;
  float row_confidence_ = 0;  // that does not depend on the token
  double total_ = 0;          // of the weights that are drawn from

  // By tile.
  std::vector<float> largest_;
  std::vector<double> sum_;         // of weights
  std::vector<double> weighted_;    // sum of weight x ln weight, for the entropy
  std::vector<Candidate> kept_;     // by a cut, by id
  std::vector<double> cumulative_;  // of tiles, or of those kept
};

}  // namespace drift
