#include <core/ranks/ranks.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nccl.h>

namespace drift {
Ranks& all_ranks();  // on_ranks.cpp
}

struct HostNcclRanks {
  int rank, size;
};

namespace {

/// Calls between ncclGroupStart() and ncclGroupEnd(): what they are, for the other ranks to compare, and what they do.
struct Group {
  bool is_open = false;
  std::string calls;
  std::vector<std::function<void()>> work;
} group;

at::Tensor elements(const void* data, std::size_t count, ncclDataType_t type) {
  const auto kind = type == ncclFloat32 ? at::kFloat : type == ncclFloat64 ? at::kDouble : at::kBFloat16;
  return at::from_blob(const_cast<void*>(data), {static_cast<std::int64_t>(count)}, kind);
}

/// In the order of the ranks.
at::Tensor sum_over_ranks(const at::Tensor& mine_E) {
  const auto all_RE = drift::all_ranks().all_gather(mine_E).view({-1, mine_E.numel()});
  auto sum_E = all_RE[0].clone();
  for (std::int64_t r = 1; r < all_RE.size(0); ++r) sum_E.add_(all_RE[r]);
  return sum_E;
}

ncclResult_t call(const std::string& name, std::size_t count, ncclDataType_t type, int root,
                  std::function<void()> work) {
  group.calls += name + ' ' + std::to_string(count) + ' ' + std::to_string(type) + ' ' + std::to_string(root) + '\n';
  group.work.push_back(std::move(work));
  return group.is_open ? ncclSuccess : ncclGroupEnd();
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t) { return "the ranks make different calls"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* ranks, int size, ncclUniqueId, int rank) {
  *ranks = new HostNcclRanks{rank, size};
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t ranks) {
  delete ranks;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  group.is_open = true;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const Group ended = std::exchange(group, {});
  for (const std::string& others : drift::all_ranks().all_gather(ended.calls)) {
    if (others != ended.calls) return ncclInvalidUsage;
  }
  for (const auto& work : ended.work) work();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t, cudaStream_t) {
  return call("all reduce", count, type, 0,
              [=] { elements(receive, count, type).copy_(sum_over_ranks(elements(send, count, type))); });
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t ranks, cudaStream_t) {
  return call("reduce scatter", count, type, 0, [=] {
    const auto all_RE =
        sum_over_ranks(elements(send, count * static_cast<std::size_t>(ranks->size), type)).view({ranks->size, -1});
    elements(receive, count, type).copy_(all_RE[ranks->rank]);
  });
}

ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t ranks,
                           cudaStream_t) {
  return call("all gather", count, type, 0, [=] {
    elements(receive, count * static_cast<std::size_t>(ranks->size), type)
        .copy_(drift::all_ranks().all_gather(elements(send, count, type)));
  });
}

ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t, int root,
                        ncclComm_t ranks, cudaStream_t) {
  return call("reduce", count, type, root, [=] {
    const auto sum_E = sum_over_ranks(elements(send, count, type));
    if (ranks->rank == root) elements(receive, count, type).copy_(sum_E);
  });
}

ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t ranks, cudaStream_t) {
  return call("broadcast", count, type, root, [=] {
    const auto mine_E = elements(send, ranks->rank == root ? count : 0, type);
    elements(receive, count, type).copy_(drift::all_ranks().all_gather(mine_E));
  });
}
