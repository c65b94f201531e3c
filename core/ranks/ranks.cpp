#include <core/ranks/ranks.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>

namespace drift {
namespace {

// Of a sum that is in memory beside the tensors: twice this.
constexpr std::int64_t kBucketBytes = 16 << 20;
// Below it a message costs more than its bytes: every rank gets all and adds up by itself.
constexpr std::int64_t kSmallBytes = 16 << 10;

/// Of the ranks' terms, one after another.
at::Tensor sum_in_order(const at::Tensor& terms_RE) {
  auto sum_E = terms_RE[0].clone();
  for (std::int64_t r = 1; r < terms_RE.size(0); ++r) sum_E.add_(terms_RE[r]);
  return sum_E;
}

}  // namespace

Ranks::Ranks(std::unique_ptr<Transport> transport, Report report)
    : report_(std::move(report)), transport_(std::move(transport)) {
  hosts_ = all_gather(host());
  watch({});
}

Ranks::Ranks(std::shared_ptr<Transport> transport, std::vector<std::string> hosts)
    : hosts_(std::move(hosts)), transport_(std::move(transport)), way_(Way::kAside) {}

void Ranks::watch(const WatchLimits& limits) {
  if (!transport_) return;
  transport_->watch(limits, [this](const RankFailure& failure) {
    report_(error_of(failure));
    transport_->abort(1);
  });
}

std::string Ranks::host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string Ranks::name(std::int64_t rank) const {
  const std::string number = "rank " + std::to_string(rank);
  return hosts_.empty() ? number : number + " (" + hosts_[static_cast<std::size_t>(rank)] + ")";
}

std::int64_t Ranks::on_host() const { return size() == 1 ? 1 : std::ranges::count(hosts_, host()); }

std::int64_t Ranks::rank_on_host() const {
  return std::count(hosts_.begin(), hosts_.begin() + rank(), hosts_[static_cast<std::size_t>(rank())]);
}

Devices* Ranks::devices_of(const std::vector<at::Tensor>& tensors) {
  const bool are_theirs = !tensors.empty() && std::ranges::all_of(tensors, [&](const at::Tensor& one) {
    return one.is_floating_point() && (one.is_cuda() || exchanges_cpu_by_devices_);
  });
  if (!are_theirs) return nullptr;
  if (!std::exchange(has_asked_for_devices_, true)) devices_ = join_devices(*this, tensors.front().device());
  return devices_.get();
}

void Ranks::exchange_by(std::unique_ptr<DeviceExchange> exchange) {
  devices_ = std::make_unique<Devices>(std::move(exchange), at::kCPU);
  has_asked_for_devices_ = exchanges_cpu_by_devices_ = true;
}

void Ranks::count_sent(const std::vector<at::Tensor>& tensors, std::int64_t times) {
  for (const at::Tensor& one : tensors)
    sent_ += times * static_cast<std::int64_t>(one.nbytes()) * (size() - 1) / size();
}

void Ranks::exchange(std::int64_t bytes, const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  try {
    body();
  } catch (const RankFailure& failure) {
    throw error_of(failure);
  }
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  sent_ += bytes;
}

Error Ranks::error_of(const RankFailure& failure) const {
  const auto end = failure.text.find('\0');
  return Error(name(failure.rank) + ": " + failure.text.substr(0, end),
               end == std::string::npos ? "" : failure.text.substr(end + 1));
}

void Ranks::gather(const void* mine, void* all, const std::vector<std::int64_t>& bytes) {
  exchange(bytes[static_cast<std::size_t>(rank())] * (size() - 1),
           [&] { transport_->all_gather(way_, mine, all, bytes); });
}

void Ranks::all_reduce(const std::vector<at::Tensor>& tensors) {
  if (size() == 1 || tensors.empty()) return;
  const at::NoGradGuard no_gradient;
  if (auto* devices = devices_of(tensors)) {
    begin_on_devices(*devices, tensors, SumFor::kAll)();
    return;
  }
  std::vector<at::Tensor> pieces;
  std::int64_t held = 0;
  const auto flush = [&] {
    if (held == 0) return;
    auto bucket_E = at::empty({held}, pieces.front().options().device(at::kCPU));
    std::int64_t begin = 0;
    for (const at::Tensor& piece : pieces) {
      bucket_E.narrow(0, begin, piece.numel()).copy_(piece);
      begin += piece.numel();
    }
    reduce_bucket(bucket_E);
    begin = 0;
    for (at::Tensor& piece : pieces) {
      piece.copy_(bucket_E.narrow(0, begin, piece.numel()));
      begin += piece.numel();
    }
    pieces.clear();
    held = 0;
  };
  for (at::Tensor tensor : tensors) {
    const bool in_place = tensor.is_contiguous();
    const auto flat = tensor.contiguous().view({-1});
    const std::int64_t capacity = kBucketBytes / tensor.element_size();
    if (!pieces.empty() && pieces.front().scalar_type() != tensor.scalar_type()) flush();
    for (std::int64_t begin = 0; begin < flat.numel();) {
      if (held == capacity) flush();
      const std::int64_t count = std::min(flat.numel() - begin, capacity - held);
      pieces.push_back(flat.narrow(0, begin, count));
      held += count;
      begin += count;
    }
    if (in_place) continue;
    flush();
    tensor.copy_(flat.view(tensor.sizes()));
  }
  flush();
}

/// Each rank adds up its share of the numbers and gives the sum to the others: as few bytes as possible, and the sum is
/// made once.
void Ranks::reduce_bucket(at::Tensor& bucket_E) {
  const std::int64_t count = bucket_E.numel(), element = bucket_E.element_size();
  if (count * element <= kSmallBytes) {
    const auto theirs_RE = at::empty({size(), count}, bucket_E.options());
    gather(bucket_E.data_ptr(), theirs_RE.data_ptr(),
           std::vector<std::int64_t>(static_cast<std::size_t>(size()), count * element));
    bucket_E = sum_in_order(theirs_RE);
    return;
  }
  std::vector<std::int64_t> elements, bytes;
  for (std::int64_t r = 0; r < size(); ++r) {
    const auto [begin, end] = share(count, r);
    elements.push_back(end - begin);
    bytes.push_back((end - begin) * element);
  }
  const auto sum_E = sum_of_parts(bucket_E, elements);
  gather(sum_E.data_ptr(), bucket_E.data_ptr(), bytes);
}

/// Collective: `parts_E` are the parts of all ranks, one after another; of this rank's, the sum over the ranks.
at::Tensor Ranks::sum_of_parts(const at::Tensor& parts_E, const std::vector<std::int64_t>& elements) {
  const std::int64_t element = parts_E.element_size(), own = elements[static_cast<std::size_t>(rank())];
  std::vector<std::int64_t> sent;
  for (const std::int64_t count : elements) sent.push_back(count * element);
  const std::vector<std::int64_t> received(sent.size(), own * element);
  const auto theirs_RE = at::empty({size(), own}, parts_E.options());
  exchange((parts_E.numel() - own) * element,
           [&] { transport_->all_to_all(way_, parts_E.data_ptr(), sent, theirs_RE.data_ptr(), received); });
  return sum_in_order(theirs_RE);
}

at::Tensor Ranks::all_gather(const at::Tensor& mine) {
  if (size() == 1) return mine.cpu();
  const at::NoGradGuard no_gradient;
  const auto part = mine.cpu().contiguous();
  const auto rows_R = at::empty({size()}, at::kLong);
  const std::int64_t rows = part.size(0);
  gather(&rows, rows_R.data_ptr(), std::vector<std::int64_t>(static_cast<std::size_t>(size()), sizeof rows));
  auto sizes = part.sizes().vec();
  const std::int64_t* const rows_of = rows_R.const_data_ptr<std::int64_t>();
  std::int64_t row_bytes = part.element_size();
  for (std::size_t d = 1; d < sizes.size(); ++d) row_bytes *= sizes[d];
  std::vector<std::int64_t> bytes;
  sizes[0] = 0;
  for (std::int64_t r = 0; r < size(); ++r) {
    bytes.push_back(rows_of[r] * row_bytes);
    sizes[0] += rows_of[r];
  }
  auto all = at::empty(sizes, part.options());
  gather(part.data_ptr(), all.data_ptr(), bytes);
  return all;
}

std::vector<std::string> Ranks::all_gather(const std::string& mine) {
  if (size() == 1) return {mine};
  const auto length = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(size()));
  gather(&length, lengths.data(), std::vector<std::int64_t>(lengths.size(), sizeof length));
  std::int64_t total = 0;
  for (const std::int64_t one : lengths) total += one;
  std::string all(static_cast<std::size_t>(total), '\0');
  gather(mine.data(), all.data(), lengths);
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t one : lengths) {
    texts.push_back(all.substr(begin, static_cast<std::size_t>(one)));
    begin += static_cast<std::size_t>(one);
  }
  return texts;
}

std::vector<nlohmann::json> Ranks::gather_json(const nlohmann::json& mine) {
  if (size() == 1) return std::vector<nlohmann::json>(1, mine);
  std::string text;
  nlohmann::json::to_msgpack(mine, text);
  std::vector<nlohmann::json> all;
  for (const std::string& one : all_gather(text)) all.push_back(nlohmann::json::from_msgpack(one));
  return all;
}

std::vector<std::int64_t> Ranks::take_turns(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  std::vector<std::int64_t> done;
  std::int64_t alone = 0;
  const auto next = [&] { return transport_ ? transport_->next(count) : std::min(alone++, count); };
  for (std::int64_t i = 0; (i = next()) < count;) {
    work(i);
    done.push_back(i);
  }
  const auto all = all_gather(at::tensor(done, at::kLong));
  return {all.const_data_ptr<std::int64_t>(), all.const_data_ptr<std::int64_t>() + all.numel()};
}

void Ranks::tell_first(const std::string& what, const std::string& hint) {
  if (transport_) transport_->tell_first(what + '\0' + hint);
}

void Ranks::leave() {
  devices_.reset();
  if (transport_) transport_->leave();
}

void Ranks::abort(int status) {
  if (size() > 1) transport_->abort(status);
}

}  // namespace drift
