// Sums over the ranks that go on while the caller computes.

#include <core/ranks/ranks.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <omp.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace drift {
namespace {

/// body() on a thread of its own. Signals are for other threads, and the processors for the computation.
template <class Body>
std::future<std::vector<at::Tensor>> on_thread(Body body) {
  sigset_t all, previous;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  auto result = std::async(std::launch::async, [body = std::move(body)]() mutable {
    at::get_num_threads();  // sets OpenMP's number when a thread first asks for it
    ::omp_set_num_threads(1);
    return body();
  });
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return result;
}

}  // namespace

std::function<std::vector<at::Tensor>()> Ranks::begin_on_devices(Devices& devices, std::vector<at::Tensor> tensors,
                                                                 SumFor receivers) {
  std::vector<at::Tensor> terms, shares;
  for (const at::Tensor& one : tensors) terms.push_back(one.detach().contiguous());
  count_sent(terms, receivers == SumFor::kAll ? 2 : 1);
  if (receivers == SumFor::kAll) {
    return [&devices, mark = devices.all_reduce(terms), terms, tensors = std::move(tensors)] {
      devices.finish(mark);
      for (std::size_t t = 0; t < terms.size(); ++t) {
        if (!terms[t].is_alias_of(tensors[t])) tensors[t].copy_(terms[t]);
      }
      return tensors;
    };
  }
  for (const at::Tensor& one : terms) {
    const auto [begin, end] = share(one.numel());
    shares.push_back(at::empty({end - begin}, one.options()));
  }
  return [&devices, mark = devices.reduce_scatter(terms, shares), terms, shares] {
    devices.finish(mark);
    return shares;
  };
}

void Ranks::begin_sum(std::vector<at::Tensor> tensors, SumFor receivers) {
  if (going_on_.valid()) finish_sum();  // of a caller that has failed
  const at::NoGradGuard no_gradient;
  if (auto* devices = size() == 1 ? nullptr : devices_of(tensors)) {
    going_on_ = std::async(std::launch::deferred, begin_on_devices(*devices, std::move(tensors), receivers));
    return;
  }
  const bool goes_aside = transport_ && transport_->has_aside() &&
                          std::ranges::all_of(tensors, [](const at::Tensor& one) { return one.is_cpu(); });
  if (goes_aside && !aside_) aside_.reset(new Ranks(transport_, hosts_));
  auto sum = [ranks = goes_aside ? aside_.get() : this, receivers, tensors = std::move(tensors)]() mutable {
    if (receivers == SumFor::kShares) return ranks->reduce_scatter(std::move(tensors));
    ranks->all_reduce(tensors);
    return std::move(tensors);
  };
  going_on_ = goes_aside ? on_thread(std::move(sum)) : std::async(std::launch::deferred, std::move(sum));
}

std::vector<at::Tensor> Ranks::finish_sum() {
  const auto status = [&] { return going_on_.wait_for(std::chrono::seconds(0)); };
  const bool is_aside = status() != std::future_status::deferred;
  if (is_aside) exchange(0, [&] { transport_->wait_until([&] { return status() == std::future_status::ready; }); });
  auto sums = going_on_.get();
  if (is_aside) sent_ += std::exchange(aside_->sent_, 0);
  return sums;
}

}  // namespace drift
