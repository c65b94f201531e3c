// Tensors of which each rank has a share: the exchanges that make and undo it.

#include <core/ranks/ranks.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace drift {
namespace {

// Of a tensor's elements that are in memory once more while they are exchanged: about twice this.
constexpr std::int64_t kShareBucketBytes = 16 << 20;

/// Elements [first, first + count) of every rank's share of a tensor; a share may end before.
struct ShareRange {
  std::size_t tensor = 0;
  at::Tensor flat_E;
  std::int64_t first = 0, count = 0;

  at::Tensor of(const Ranks& ranks, std::int64_t rank) const {
    const auto [begin, end] = ranks.share(flat_E.numel(), rank);
    const std::int64_t from = std::min(begin + first, end);
    return flat_E.narrow(0, from, std::min(count, end - from));
  }
};

/// exchange(ranges): the tensors' shares in buckets, each of one type.
template <class Exchange>
void for_buckets(const Ranks& ranks, const std::vector<at::Tensor>& tensors, const Exchange& exchange) {
  std::vector<ShareRange> ranges;
  std::int64_t held = 0;
  const auto flush = [&] {
    if (!ranges.empty()) exchange(ranges);
    ranges.clear();
    held = 0;
  };
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (!ranges.empty() && ranges.front().flat_E.scalar_type() != tensors[t].scalar_type()) flush();
    const std::int64_t capacity =
        std::max<std::int64_t>(1, kShareBucketBytes / tensors[t].element_size() / ranks.size());
    const auto flat_E = tensors[t].contiguous().view({-1});
    const std::int64_t longest = (flat_E.numel() + ranks.size() - 1) / ranks.size();
    for (std::int64_t first = 0; first < longest;) {
      if (held == capacity) flush();
      const std::int64_t count = std::min(longest - first, capacity - held);
      ranges.push_back({t, flat_E, first, count});
      held += count;
      first += count;
    }
  }
  flush();
}

std::int64_t elements_of(const Ranks& ranks, const std::vector<ShareRange>& ranges, std::int64_t rank) {
  std::int64_t sum = 0;
  for (const ShareRange& range : ranges) sum += range.of(ranks, rank).numel();
  return sum;
}

/// copy(range, place): the ranges of a rank's share have their places in `packed_E` from `begin` on, in their order.
/// @return the end of the last one
template <class Copy>
std::int64_t for_places(const Ranks& ranks, const std::vector<ShareRange>& ranges, std::int64_t rank,
                        const at::Tensor& packed_E, std::int64_t begin, const Copy& copy) {
  for (const ShareRange& range : ranges) {
    const auto part_E = range.of(ranks, rank);
    copy(range, part_E, packed_E.narrow(0, begin, part_E.numel()));
    begin += part_E.numel();
  }
  return begin;
}

/// Where this rank's share of each contiguous tensor belongs in it, flat.
std::vector<at::Tensor> own_shares(const Ranks& ranks, const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> own;
  for (const at::Tensor& one : tensors) {
    const auto [begin, end] = ranks.share(one.numel());
    own.push_back(one.detach().view({-1}).narrow(0, begin, end - begin));
  }
  return own;
}

}  // namespace

// A tensor's sum gets its memory when its elements are exchanged: by then others' have been given back.
std::vector<at::Tensor> Ranks::reduce_scatter(std::vector<at::Tensor> tensors) {
  const at::NoGradGuard no_gradient;
  if (auto* devices = size() == 1 ? nullptr : devices_of(tensors))
    return begin_on_devices(*devices, std::move(tensors), SumFor::kShares)();
  std::vector<at::Tensor> sums;
  for (const at::Tensor& tensor : tensors)
    sums.push_back(size() == 1 ? tensor.reshape({-1}) : at::empty({0}, tensor.options()));
  if (size() == 1) return sums;
  for_buckets(*this, tensors, [&](const std::vector<ShareRange>& ranges) {
    std::vector<std::int64_t> elements;
    std::int64_t all = 0;
    for (std::int64_t r = 0; r < size(); ++r) all += elements.emplace_back(elements_of(*this, ranges, r));
    const auto packed_E = at::empty({all}, ranges.front().flat_E.options().device(at::kCPU));
    std::int64_t end = 0;
    for (std::int64_t r = 0; r < size(); ++r) {
      end = for_places(*this, ranges, r, packed_E, end,
                       [](const ShareRange&, const at::Tensor& part_E, at::Tensor place_E) { place_E.copy_(part_E); });
    }
    const auto own_E = sum_of_parts(packed_E, elements);
    for_places(*this, ranges, rank(), own_E, 0,
               [&](const ShareRange& range, const at::Tensor& part_E, const at::Tensor& place_E) {
                 at::Tensor& sum_E = sums[range.tensor];
                 const auto [begin, end] = share(range.flat_E.numel());
                 if (range.first == 0) sum_E = at::empty({end - begin}, sum_E.options());
                 sum_E.narrow(0, range.first, part_E.numel()).copy_(place_E);
               });
    for (std::size_t t = 0; t < ranges.back().tensor; ++t) tensors[t] = at::Tensor();
  });
  return sums;
}

void Ranks::gather_shares(const std::vector<at::Tensor>& tensors) {
  if (size() == 1) return;
  const at::NoGradGuard no_gradient;
  if (devices_of(tensors) != nullptr) {
    begin_gather(own_shares(*this, tensors), tensors);
    return finish_gather();
  }
  for_buckets(*this, tensors, [&](const std::vector<ShareRange>& ranges) {
    const auto options = ranges.front().flat_E.options().device(at::kCPU);
    std::vector<std::int64_t> bytes;
    std::int64_t all = 0;
    for (std::int64_t r = 0; r < size(); ++r) {
      const std::int64_t elements = elements_of(*this, ranges, r);
      bytes.push_back(elements * static_cast<std::int64_t>(options.dtype().itemsize()));
      all += elements;
    }
    const auto mine_E = at::empty({elements_of(*this, ranges, rank())}, options), all_E = at::empty({all}, options);
    for_places(*this, ranges, rank(), mine_E, 0,
               [](const ShareRange&, const at::Tensor& part_E, at::Tensor place_E) { place_E.copy_(part_E); });
    gather(mine_E.data_ptr(), all_E.data_ptr(), bytes);
    std::int64_t end = 0;
    for (std::int64_t r = 0; r < size(); ++r) {
      end = for_places(*this, ranges, r, all_E, end,
                       [](const ShareRange&, at::Tensor part_E, const at::Tensor& place_E) { part_E.copy_(place_E); });
    }
  });
}

// The shares of one tensor lie one after another in it: they arrive where they belong.
void Ranks::begin_gather(const std::vector<at::Tensor>& shares, const std::vector<at::Tensor>& tensors) {
  if (size() == 1) return;
  if (auto* devices = devices_of(tensors)) {
    gathered_ = devices->all_gather(shares, tensors);
    count_sent(tensors, 1);
    return;
  }
  if (!tensors.empty() && !tensors.front().is_cpu()) {  // through the hosts, at once
    const auto own = own_shares(*this, tensors);
    for (std::size_t t = 0; t < own.size(); ++t) own[t].copy_(shares[t]);
    return gather_shares(tensors);
  }
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    std::vector<std::int64_t> bytes;
    for (std::int64_t r = 0; r < size(); ++r) {
      const auto [begin, end] = share(tensors[t].numel(), r);
      bytes.push_back((end - begin) * static_cast<std::int64_t>(tensors[t].element_size()));
    }
    exchange(bytes[static_cast<std::size_t>(rank())] * (size() - 1),
             [&] { transport_->begin_gather(shares[t].const_data_ptr(), tensors[t].mutable_data_ptr(), bytes); });
  }
}

void Ranks::finish_gather() {
  if (size() == 1) return;
  if (devices_) devices_->finish(std::exchange(gathered_, nullptr));
  exchange(0, [&] { transport_->finish_gathers(); });
}

}  // namespace drift
