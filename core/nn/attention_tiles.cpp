#include <core/nn/attention_tiles.h>

#include <core/kernels/product.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace drift::nn {
namespace {

/// A token, as far as it decides what sees it and what it sees.
struct Place {
  std::int64_t block = 0, copy = 0, text = 0;
  bool is_key = true, is_query = true;
  bool operator==(const Place&) const = default;
};
using Row = std::vector<Place>;

/// Adjacent places that are equal.
struct Run {
  Place place;
  PlaceRange places;
};

bool sees(const Place& query, const Place& key) {
  if (!key.is_key || key.text != query.text) return false;
  if (key.copy != query.copy) return key.copy == 0 && key.block < query.block;
  return query.copy == 0 ? key.block <= query.block : key.block == query.block;
}

Row row_of(const BlockStructure& structure, std::int64_t b) {
  const auto places = structure.block_BS.size(1);
  const auto of = [&](const at::Tensor& values_BS, auto place, auto set) {
    if (!values_BS.defined()) return;
    const auto row = values_BS.select(0, b).contiguous();
    const auto* values = row.template const_data_ptr<decltype(place)>();
    for (std::int64_t s = 0; s < places; ++s) set(s, values[s]);
  };
  Row row(static_cast<std::size_t>(places));
  constexpr std::int64_t kNumber = 0;
  of(structure.block_BS, kNumber, [&](std::int64_t s, std::int64_t block) { row[s].block = block; });
  of(structure.copy_BS, kNumber, [&](std::int64_t s, std::int64_t copy) { row[s].copy = copy; });
  of(structure.text_BS, kNumber, [&](std::int64_t s, std::int64_t text) {
    row[s].text = text;
    row[s].is_key = row[s].is_query = text >= 0;
  });
  bool is_padding = true;
  of(structure.key_mask_BS, false, [&](std::int64_t s, bool is_key) {
    is_padding = is_padding && !is_key;
    row[s].is_key = row[s].is_key && is_key;
    row[s].is_query = row[s].is_query && !is_padding;
  });
  return row;
}

std::vector<Run> runs_of(const Row& row) {
  std::vector<Run> runs;
  for (std::int64_t s = 0; s < std::ssize(row); ++s) {
    if (runs.empty() || runs.back().place != row[s]) runs.push_back({row[s], {s, s}});
    ++runs.back().places.end;
  }
  return runs;
}

/// Plans the tiles of a row, or of several equal ones.
class RowPlanner {
 public:
  RowPlanner(const Row& row, std::int64_t most_queries)
      : row_(row), runs_(runs_of(row)), run_of_(row.size()), most_queries_(most_queries) {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      for (auto s = runs_[r].places.first; s < runs_[r].places.end; ++s) run_of_[s] = r;
    }
  }

  struct Tile {
    PlaceRange queries;
    std::vector<PlaceRange> keys;
    std::int64_t cut = 0;  ///< columns of the pattern
    std::string pattern;   ///< [queries, cut]: 1 = the query sees the key
  };

  /// The queries are these places of the row.
  std::vector<Tile> plan(const PlaceRange& queries) {
    std::vector<Tile> tiles;
    for (std::int64_t first = queries.first; first < queries.end;) {
      Tile tile{{first, end_of_tile(first, queries.end)}, {}, 0, {}};
      if (row_[first].is_query) {
        find_keys(tile);
        if (tile.keys.empty()) {
          // none of them sees anything
        } else if (set_blind_apart(tile)) {
          continue;  // plan these queries again
        } else {
          tiles.push_back(tile);
        }
      }
      first = tile.queries.end;
    }
    return tiles;
  }

 private:
  /// Whole runs of one text and copy; a run of more than most_queries_ places is split.
  std::int64_t end_of_tile(std::int64_t first, std::int64_t end_of_queries) const {
    const auto belongs = [&](const Place& place) {
      return place.text == row_[first].text && place.copy == row_[first].copy && place.is_query == row_[first].is_query;
    };
    std::int64_t end = first;
    while (end < end_of_queries && belongs(row_[end])) {
      const std::int64_t end_of_run = std::min(runs_[run_of_[end]].places.end, end_of_queries);
      if (end_of_run - first > most_queries_) return end > first ? end : first + most_queries_;
      end = end_of_run;
    }
    return end;
  }

  void find_keys(Tile& tile) const {
    Place low = row_[tile.queries.first], high = low;
    for (auto q = tile.queries.first; q < tile.queries.end; ++q) {
      low.block = std::min(low.block, row_[q].block);
      high.block = std::max(high.block, row_[q].block);
    }
    std::vector<PlaceRange> cut;
    for (const Run& run : runs_) {
      const bool is_own = run.place.copy == low.copy && low.copy != 0;
      const Place at_most{.block = is_own ? std::clamp(run.place.block, low.block, high.block) : high.block,
                          .copy = low.copy,
                          .text = low.text};
      if (!sees(at_most, run.place)) continue;
      auto& ranges = sees(low, run.place) && sees(high, run.place) ? tile.keys : cut;
      if (!ranges.empty() && ranges.back().end == run.places.first) {
        ranges.back().end = run.places.end;
      } else {
        ranges.push_back(run.places);
      }
    }
    for (auto q = tile.queries.first; q < tile.queries.end && !cut.empty(); ++q) {
      for (const PlaceRange& range : cut) {
        for (auto s = range.first; s < range.end; ++s) tile.pattern.push_back(sees(row_[q], row_[s]) ? 1 : 0);
      }
    }
    tile.cut = std::ssize(tile.pattern) / (tile.queries.end - tile.queries.first);
    for (const PlaceRange& range : cut) {
      if (!tile.keys.empty() && tile.keys.back().end == range.first) {
        tile.keys.back().end = range.end;
      } else {
        tile.keys.push_back(range);
      }
    }
  }

  /// Whether there are queries that see nothing; they are none then.
  bool set_blind_apart(const Tile& tile) {
    std::int64_t columns = 0;
    for (const PlaceRange& range : tile.keys) columns += range.end - range.first;
    if (tile.cut < columns) return false;
    bool found = false;
    for (auto q = tile.queries.first; q < tile.queries.end; ++q) {
      const auto begin = tile.pattern.begin() + (q - tile.queries.first) * tile.cut;
      if (std::count(begin, begin + tile.cut, 1) > 0) continue;
      row_[q].is_query = false;
      found = true;
    }
    return found;
  }

  Row row_;
  std::vector<Run> runs_;
  std::vector<std::size_t> run_of_;
  std::int64_t most_queries_;
};

/// Biases of equal patterns are one tensor.
class Biases {
 public:
  Biases(at::ScalarType type, at::Device device) : type_(type), device_(device) {}

  at::Tensor of(const RowPlanner::Tile& tile) {
    if (tile.cut == 0) return {};
    at::Tensor& bias = known_[{tile.cut, tile.pattern}];
    if (!bias.defined()) {
      const auto here = at::empty({tile.queries.end - tile.queries.first, 1, tile.cut}, at::kFloat);
      std::transform(tile.pattern.begin(), tile.pattern.end(), here.data_ptr<float>(),
                     [](char seen) { return seen ? 0.0f : -std::numeric_limits<float>::infinity(); });
      bias = here.to(at::TensorOptions(type_).device(device_), /*non_blocking=*/true);
    }
    return bias;
  }

 private:
  at::ScalarType type_;
  at::Device device_;
  std::map<std::pair<std::int64_t, std::string>, at::Tensor> known_;
};

at::ScalarType type_of_products(const TileShape& shape) {
  using enum kernels::Bfloat16Products;
  const bool is_widened =
      shape.device.is_cpu() && shape.type == at::kBFloat16 && kernels::bfloat16_products() == kWidened;
  return is_widened ? at::kFloat : shape.type;
}

/// Where small tiles' calls cost as much as the scores that larger ones compute in vain: measured on the CPU, bfloat16
/// with AMX (docs/benchmarks.md). A GPU's launches cost more.
std::int64_t queries_of_tile(const TileShape& shape, std::int64_t rows) {
  if (!shape.device.is_cpu()) return 256;
  if (type_of_products(shape) == at::kBFloat16) return 128;
  constexpr double kProductsOfACall = 1 << 21;
  const double of_a_score = static_cast<double>(shape.heads * shape.head_dimension * rows);
  return std::clamp<std::int64_t>(std::llround(std::sqrt(kProductsOfACall / of_a_score)), 32, 128);
}

}  // namespace

at::Tensor blocks_of_places(const at::Tensor& padding_B, std::int64_t places, std::int64_t size) {
  return (at::arange(places, at::kLong) - padding_B.unsqueeze(1)).div(size, "floor");
}

std::shared_ptr<const AttentionTiles> plan_tiles(const BlockStructure& structure, const at::Tensor& begin_B,
                                                 std::int64_t queries, const TileShape& shape) {
  auto plan = std::make_shared<AttentionTiles>();
  plan->type = type_of_products(shape);
  plan->queries = queries;
  Biases biases(plan->type, shape.device);
  const std::int64_t rows = structure.block_BS.size(0);
  const auto begin_of = [&](std::int64_t b) { return begin_B.defined() ? begin_B[b].item<std::int64_t>() : 0; };
  for (std::int64_t first = 0; first < rows;) {
    const Row row = row_of(structure, first);
    const std::int64_t begin = begin_of(first);
    std::int64_t end = first + 1;
    while (end < rows && begin_of(end) == begin && row_of(structure, end) == row) ++end;
    for (auto& tile : RowPlanner(row, queries_of_tile(shape, end - first)).plan({begin, begin + queries})) {
      AttentionTile made{
          {first, end}, {tile.queries.first - begin, tile.queries.end - begin}, tile.keys, 0, biases.of(tile)};
      for (const PlaceRange& range : tile.keys) made.columns += range.end - range.first;
      plan->most_pairs = std::max(plan->most_pairs, (tile.queries.end - tile.queries.first) * made.columns);
      plan->tiles.push_back(made);
    }
    first = end;
  }
  // On the CPU the scores of a tile stay in cache.
  const std::int64_t many_scores = shape.device.is_cpu() ? 1 << 19 : 1 << 27;
  plan->rows_together =
      std::clamp<std::int64_t>(many_scores / std::max<std::int64_t>(plan->most_pairs * shape.heads, 1), 1, rows);
  return plan;
}

}  // namespace drift::nn
