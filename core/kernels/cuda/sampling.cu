// Bytes per logit in bfloat16, at least: 2 (read once). Here 2, and one tile again; with top_k or top_p 9 to 19 more
// looks at the row, from the cache if it fits there.

#include <core/kernels/cuda/target.h>

namespace drift::kernels::DRIFT_TARGET {

using cuda::IdRanges, cuda::SampleCall;

constexpr int kSampleThreads = 256, kSampleWarps = kSampleThreads / kLanes;
constexpr int kTile = static_cast<int>(SampleCall::kTile), kMostTiles = static_cast<int>(SampleCall::kMostTiles);
constexpr int kOfLane = kTile / kLanes;
constexpr int kMargin = 1;  // Confidence

/// What a set of ids adds up to: weights e^((x - largest) scale), and weights times their logarithms.
struct Sums {
  float largest = kLowest, second = kLowest;
  double total = 0, weighted = 0;

  __device__ void add(const Sums& other, float scale) {
    const float top = other.largest > largest ? other.largest : largest;
    const float low = other.largest > largest ? largest : other.largest;
    second = other.second > second ? other.second : second;
    second = low > second ? low : second;
    const double total_before = total, weighted_before = weighted;
    total = weighted = 0;
    add_part(largest, total_before, weighted_before, top, scale);
    add_part(other.largest, other.total, other.weighted, top, scale);
    largest = top;
  }

 private:
  __device__ void add_part(float of, double part_total, double part_weighted, float top, float scale) {
    const bool empty = of == kLowest;  // its total is 0, or not a number
    const float shift = of == top || empty ? 0 : (of - top) * scale, shrink = vector_exp(shift);
    total += part_total * shrink;
    weighted += (part_weighted + (part_total == 0 ? 0 : shift * part_total)) * shrink;
  }
};

/// Of a tile's ids that `in` holds; each lane has kOfLane of the values. Each lane gets it.
inline __device__ Sums sums_of_tile(const float (&values)[kOfLane], unsigned in, float scale, bool second) {
  Sums sums;
  for (int i = 0; i < kOfLane; ++i) {
    if (((in >> i) & 1) != 0 && values[i] > sums.largest) sums.largest = values[i];
  }
  const float own = sums.largest;
  sums.largest = warp_reduce(own, Largest());
  // All -inf, or no id: nothing is added, unless it is not a number.
  const float reference = sums.largest == kLowest ? 0 : sums.largest;
  float total = 0, weighted = 0, next = kLowest;
  int holders = 0;
  for (int i = 0; i < kOfLane; ++i) {
    if (((in >> i) & 1) == 0) continue;
    const float log_weight = (values[i] - reference) * scale, weight = vector_exp(log_weight);
    total += weight;
    weighted += weight == 0 ? 0 : weight * log_weight;
    if (values[i] == sums.largest) {
      ++holders;
    } else if (values[i] > next) {
      next = values[i];
    }
  }
  sums.total = warp_reduce(total, Sum());
  sums.weighted = warp_reduce(weighted, Sum());
  if (second) sums.second = warp_reduce(holders, Sum()) > 1 ? sums.largest : warp_reduce(next, Largest());
  return sums;
}

/// Larger for larger logits; equal for 0 and -0.
inline __device__ unsigned key_of(float logit) {
  const auto bits = std::bit_cast<unsigned>(logit + 0.0f);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

inline __device__ bool is_forbidden(const IdRanges& ranges, std::int64_t id) {
  bool forbidden = false;
  DRIFT_NO_UNROLL
  for (int r = 0; r < ranges.count; ++r) forbidden |= id >= ranges.begin[r] && id < ranges.end[r];
  return forbidden;
}

/// Whether one of the ids [begin, end) is forbidden.
inline __device__ bool is_touched(const IdRanges& ranges, std::int64_t begin, std::int64_t end) {
  bool touched = false;
  DRIFT_NO_UNROLL
  for (int r = 0; r < ranges.count; ++r) touched |= ranges.begin[r] < end && ranges.end[r] > begin;
  return touched;
}

inline __device__ std::int64_t first_allowed(const IdRanges& ranges) {
  std::int64_t id = 0;
  DRIFT_NO_UNROLL
  for (int r = 0; r < ranges.count; ++r) id = ranges.begin[r] == id ? ranges.end[r] : id;
  return id;
}

struct SampleScratch {
  double sum[kMostTiles];  ///< weights that may be drawn, by tile; then added up
  float largest[kMostTiles];
  unsigned long long histogram[256];
  float weight[kTile];
  Sums of_warp[kSampleWarps], of_warp_drawn[kSampleWarps];
  unsigned long long left;
  unsigned key;
  std::int64_t last_id, token;
};

/// Ids with larger keys than its own, and of equal ones those up to an id.
struct KeptIds {
  unsigned key = 0;
  std::int64_t last_id = std::numeric_limits<std::int64_t>::max();

  __device__ bool keep(unsigned of, std::int64_t id) const { return of > key || (of == key && id <= last_id); }
};

/// A row and what its draw is from.
template <class T>
struct SampledRow {
  const T* logits;
  std::int64_t vocabulary;
  const IdRanges* forbidden;
  float best_logit, scale;

  __device__ float logit(std::int64_t id) const { return widen(logits[id]); }
  __device__ bool allowed(std::int64_t id) const { return id < vocabulary && !is_forbidden(*forbidden, id); }
  __device__ float weight(float logit) const { return vector_exp((logit - best_logit) * scale); }
  /// In units of 2^-44: sums are exact, so that their order does not matter.
  __device__ unsigned long long share(float logit) const {
    return static_cast<unsigned long long>(static_cast<double>(weight(logit)) * 0x1p44);
  }
};

/// The key at which the amounts of the ids with larger keys, and its own, become more than `left`: found digit by digit
/// in histograms. `amount(id, logit)`; those of amount 0 are not looked at. `left` becomes what is left at the key, and
/// the key's own amount is in the histogram. No key if the amounts never become more: 0.
template <class T, class Amount, class Left>
__device__ unsigned crossing_key(const SampledRow<T>& row, SampleScratch& scratch, const Amount& amount,
                                 const Left& left_of_total) {
  unsigned key = 0;
  DRIFT_NO_UNROLL
  for (int shift = 24; shift >= 0; shift -= 8) {
    __syncthreads();
    scratch.histogram[threadIdx.x] = 0;
    __syncthreads();
    DRIFT_NO_UNROLL
    for (std::int64_t id = threadIdx.x; id < row.vocabulary; id += blockDim.x) {
      if (!row.allowed(id)) continue;
      const float logit = row.logit(id);
      const unsigned own = key_of(logit);
      if (shift < 24 && (own >> (shift + 8)) != (key >> (shift + 8))) continue;
      const unsigned long long share = amount(id, logit);
      if (share != 0) atomicAdd(&scratch.histogram[(own >> shift) & 255], share);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      if (shift == 24) {
        unsigned long long total = 0;
        DRIFT_NO_UNROLL
        for (int b = 0; b < 256; ++b) total += scratch.histogram[b];
        scratch.left = left_of_total(total);
      }
      int bucket = 255;
      while (bucket > 0 && scratch.histogram[bucket] <= scratch.left) scratch.left -= scratch.histogram[bucket--];
      scratch.key = key | static_cast<unsigned>(bucket) << shift;
    }
    __syncthreads();
    key = scratch.key;
  }
  return key;
}

/// The id of the n-th of the allowed ids with this key, counted from 1.
template <class T>
__device__ std::int64_t nth_of_key(const SampledRow<T>& row, SampleScratch& scratch, unsigned key,
                                   unsigned long long n) {
  DRIFT_NO_UNROLL
  for (std::int64_t first = 0, tile = 0; first < row.vocabulary; first += kTile, ++tile) {
    const std::int64_t id = first + threadIdx.x;
    const int ties = row.allowed(id) && key_of(row.logit(id)) == key ? 1 : 0;
    const int in_tile = block_reduce(ties, Sum(), 0);
    if (threadIdx.x == 0) scratch.sum[tile] = in_tile;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    std::int64_t first = 0;
    for (std::int64_t tile = 0; n > scratch.sum[tile]; ++tile, first += kTile)
      n -= static_cast<unsigned long long>(scratch.sum[tile]);
    std::int64_t id = first;
    for (;; ++id) {
      if (row.allowed(id) && key_of(row.logit(id)) == key && --n == 0) break;
    }
    scratch.last_id = id;
  }
  __syncthreads();
  return scratch.last_id;
}

/// What top_p and then top_k leave.
template <class T>
__device__ KeptIds cut(const SampledRow<T>& row, SampleScratch& scratch, std::int64_t top_k, double top_p) {
  KeptIds kept;
  if (top_p > 0 && top_p < 1) {
    kept.key = crossing_key(
        row, scratch, [&](std::int64_t, float logit) { return row.share(logit); },
        [&](unsigned long long total) {
          const auto left = static_cast<unsigned long long>(top_p * static_cast<double>(total));
          return left < total ? left : total - 1;
        });
    // Ties weigh the same: as many as cross what is left.
    const unsigned long long tied = scratch.histogram[kept.key & 255], left = scratch.left;
    const unsigned long long each =
        row.share(std::bit_cast<float>((kept.key & 0x80000000u) != 0 ? kept.key & 0x7FFFFFFFu : ~kept.key));
    const unsigned long long needed = left / each + 1;
    if (needed * each < tied) kept.last_id = nth_of_key(row, scratch, kept.key, needed);
  }
  if (top_k > 0) {
    unsigned long long count = 0;
    DRIFT_NO_UNROLL
    for (std::int64_t id = threadIdx.x; id < row.vocabulary; id += blockDim.x) {
      if (row.allowed(id) && kept.keep(key_of(row.logit(id)), id)) ++count;
    }
    if (block_reduce(count, Sum(), 0ull) > static_cast<unsigned long long>(top_k)) {
      const unsigned key = crossing_key(
          row, scratch,
          [&](std::int64_t id, float logit) -> unsigned long long { return kept.keep(key_of(logit), id) ? 1 : 0; },
          [&](unsigned long long) { return static_cast<unsigned long long>(top_k - 1); });
      if (key > kept.key) kept = KeptIds{key};
    }
  }
  return kept;
}

/// Weights of the kept ids by tile, as float64 sums.
template <class T>
__device__ Sums sums_of_kept(const SampledRow<T>& row, SampleScratch& scratch, const KeptIds& kept, std::int64_t best) {
  Sums sums;
  float second = kLowest;
  DRIFT_NO_UNROLL
  for (std::int64_t first = 0, tile = 0; first < row.vocabulary; first += kTile, ++tile) {
    const std::int64_t id = first + threadIdx.x;
    double share = 0, weighted = 0;
    if (row.allowed(id) && kept.keep(key_of(row.logit(id)), id)) {
      const float logit = row.logit(id);
      share = row.weight(logit);
      weighted = share > 0 ? share * static_cast<double>((logit - row.best_logit) * row.scale) : 0;
      if (id != best && logit > second) second = logit;
    }
    const double of_tile = block_reduce(share, Sum(), 0.0);
    if (threadIdx.x == 0) scratch.sum[tile] = of_tile;
    sums.weighted += weighted;
    sums.total += of_tile;
  }
  sums.largest = row.best_logit;
  sums.second = block_reduce(second, Largest(), kLowest);
  sums.weighted = block_reduce(sums.weighted, Sum(), 0.0);
  __syncthreads();
  return sums;
}

/// Sums of tiles become cumulative; the tile that holds `target` of their total by inversion, then its id. -1: the sums
/// are not numbers.
template <class T, class IsKept>
__device__ std::int64_t choose(const SampledRow<T>& row, SampleScratch& scratch, int tiles, double uniform,
                               const IsKept& is_kept) {
  if (threadIdx.x == 0) {
    DRIFT_NO_UNROLL
    for (int t = 1; t < tiles; ++t) scratch.sum[t] += scratch.sum[t - 1];
  }
  __syncthreads();
  const double total = scratch.sum[tiles - 1], target = uniform * total;
  int passed = 0, below = 0;
  for (int t = static_cast<int>(threadIdx.x); t < tiles; t += static_cast<int>(blockDim.x)) {
    passed += scratch.sum[t] <= target ? 1 : 0;
    below += scratch.sum[t] < total ? 1 : 0;
  }
  passed = block_reduce(passed, Sum(), 0);
  below = block_reduce(below, Sum(), 0);
  if (!(total > 0)) return -1;
  // Rounding may lift the target to the total: the last one with a weight takes it.
  const int tile = passed < tiles ? passed : below;
  const std::int64_t id = static_cast<std::int64_t>(tile) * kTile + threadIdx.x;
  scratch.weight[threadIdx.x] = is_kept(id) ? row.weight(row.logit(id)) : 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    double reached = tile == 0 ? 0 : scratch.sum[tile - 1];
    int last = -1, chosen = -1;
    DRIFT_NO_UNROLL
    for (int i = 0; i < kTile && chosen < 0; ++i) {
      reached += scratch.weight[i];
      if (scratch.weight[i] > 0) last = i;
      if (reached > target && last == i) chosen = i;
    }
    chosen = chosen < 0 ? last : chosen;
    scratch.token = chosen < 0 ? -1 : static_cast<std::int64_t>(tile) * kTile + chosen;
  }
  __syncthreads();
  return scratch.token;
}

/// Of a distribution whose largest weight is 1.
inline __device__ float row_confidence(int confidence, double second_weight, double total, double weighted) {
  return static_cast<float>(confidence == kMargin ? (1 - second_weight) / total : weighted / total - log(total));
}

/// One block per draw.
template <class T>
__global__ void sample_rows(SampleCall call) {
  auto& scratch = shared<SampleScratch>();
  const std::int64_t m = blockIdx.x, vocabulary = call.vocabulary;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, warp = static_cast<int>(threadIdx.x) / kLanes;
  const int tiles = static_cast<int>((vocabulary + kTile - 1) / kTile);
  SampledRow<T> row{static_cast<const T*>(call.logits) + call.row[m] * vocabulary, vocabulary, &call.forbidden, 0,
                    call.inverse_temperature};
  const bool draws = call.uniform != nullptr || call.of_draw;
  const bool second = call.confidence == kMargin;

  // The row is read once: each warp has every eighth tile.
  Sums all, drawn;
  std::uint64_t best = 0;  // the key of the most likely allowed id, and its id, larger for lower ids
  DRIFT_NO_UNROLL
  for (int tile = warp; tile < tiles; tile += kSampleWarps) {
    float values[kOfLane];
    unsigned in = 0, legal = 0;
    const std::int64_t first = static_cast<std::int64_t>(tile) * kTile;
    const bool touched = is_touched(call.forbidden, first, first + kTile);
    for (int i = 0; i < kOfLane; ++i) {
      const std::int64_t id = first + i * kLanes + lane;
      values[i] = id < vocabulary ? row.logit(id) : kLowest;
      in |= (id < vocabulary ? 1u : 0u) << i;
      if (id >= vocabulary || (touched && is_forbidden(call.forbidden, id))) continue;
      legal |= 1u << i;
      const std::uint64_t own =
          static_cast<std::uint64_t>(key_of(values[i])) << 32 | (0xFFFFFFFFu - static_cast<std::uint32_t>(id));
      best = values[i] == values[i] && own > best ? own : best;
    }
    all.add(sums_of_tile(values, in, 1, second && !call.of_draw), 1);
    if (!draws) continue;
    const Sums of_tile = sums_of_tile(values, legal, row.scale, second && call.of_draw);
    drawn.add(of_tile, row.scale);
    if (lane == 0) {
      scratch.largest[tile] = of_tile.largest;
      scratch.sum[tile] = of_tile.total;
    }
  }
  best = block_reduce(best, Largest(), std::uint64_t{0});
  if (lane == 0) {
    scratch.of_warp[warp] = all;
    scratch.of_warp_drawn[warp] = drawn;
  }
  __syncthreads();
  all = drawn = Sums{};
  DRIFT_NO_UNROLL
  for (int w = 0; w < kSampleWarps; ++w) {
    all.add(scratch.of_warp[w], 1);
    drawn.add(scratch.of_warp_drawn[w], row.scale);
  }
  const std::int64_t best_id = best == 0 ? first_allowed(call.forbidden)
                                         : static_cast<std::int64_t>(0xFFFFFFFFu - static_cast<std::uint32_t>(best));
  row.best_logit = row.logit(best_id);
  std::int64_t token = best_id;
  if (draws) {
    KeptIds kept;
    const bool has_cut = call.top_k > 0 || (call.top_p > 0 && call.top_p < 1);
    if (has_cut && drawn.total > 0 && drawn.total < std::numeric_limits<double>::infinity()) {
      kept = cut(row, scratch, call.top_k, call.top_p);
      drawn = sums_of_kept(row, scratch, kept, best_id);
    } else {
      for (int t = static_cast<int>(threadIdx.x); t < tiles; t += static_cast<int>(blockDim.x)) {
        if (scratch.largest[t] > kLowest)
          scratch.sum[t] *= vector_exp((scratch.largest[t] - row.best_logit) * row.scale);
      }
      __syncthreads();
    }
    if (call.uniform != nullptr) {
      const std::int64_t chosen = choose(row, scratch, tiles, call.uniform[m], [&](std::int64_t id) {
        return row.allowed(id) && kept.keep(key_of(row.logit(id)), id);
      });
      token = chosen < 0 ? best_id : chosen;
    }
  }
  if (threadIdx.x != 0) return;
  const auto logprob = static_cast<float>(static_cast<double>(row.logit(token) - all.largest) - log(all.total));
  float confidence;
  if (call.confidence == 0) {
    confidence = call.of_draw ? static_cast<float>(row.weight(row.logit(token)) / drawn.total) : expf(logprob);
  } else {
    const Sums& sums = call.of_draw ? drawn : all;
    const float scale = call.of_draw ? row.scale : 1;
    confidence =
        row_confidence(call.confidence, vector_exp((sums.second - sums.largest) * scale), sums.total, sums.weighted);
  }
  call.token[m] = token;
  call.logprob[m] = logprob;
  call.confidence_out[m] = confidence;
}

/// Philox 4x32-10, as at::philox_engine has it for one value.
__global__ void uniform_numbers(cuda::UniformCall call) {
  const std::int64_t m = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (m >= call.size) return;
  auto key0 = static_cast<std::uint32_t>(call.key), key1 = static_cast<std::uint32_t>(call.key >> 32);
  auto c0 = static_cast<std::uint32_t>(call.step), c1 = static_cast<std::uint32_t>(call.response[m]);
  auto c2 = static_cast<std::uint32_t>(call.position[m]), c3 = static_cast<std::uint32_t>(call.draw[m]);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * c0, product1 = std::uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  // The upper 53 of 64 bits.
  call.uniform[m] = static_cast<double>((std::uint64_t{c0} << 32 | c1) >> 11) * 0x1p-53;
}

Status sample(const SampleCall& call, Stream stream) {
  const Grid grid{call.draws, kSampleThreads};
  return call.type == Element::kFloat32 ? launch(sample_rows<float>, grid, stream, call)
                                        : launch(sample_rows<Bfloat16>, grid, stream, call);
}

Status uniform(const cuda::UniformCall& call, Stream stream) {
  return launch(uniform_numbers, {divide_up(call.size, 256), 256}, stream, call);
}

}  // namespace drift::kernels::DRIFT_TARGET
