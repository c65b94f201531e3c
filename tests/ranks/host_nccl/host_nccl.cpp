#include "tests/standin/kernel_memory.h"

#include <c10/util/BFloat16.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <nccl.h>

namespace {

constexpr int kMostRanks = 16;
constexpr std::size_t kSlot = std::size_t{1} << 22;  // bytes of a rank that the others see at once

struct SharedState {
  std::atomic<bool> is_ready;
  pthread_barrier_t barrier;
  std::size_t calls[kMostRanks];  ///< of each rank, hashed
};

}  // namespace

/// Processes of one host, in memory that they share: the state, and a slot of each.
struct HostNcclRanks {
  int rank, size;
  SharedState* state;

  std::byte* slot(int of) const {
    return reinterpret_cast<std::byte*>(state) + sizeof(SharedState) + static_cast<std::size_t>(of) * kSlot;
  }
  std::size_t bytes() const { return sizeof(SharedState) + static_cast<std::size_t>(size) * kSlot; }
  void wait() const { pthread_barrier_wait(&state->barrier); }
};

namespace {

/// Calls between ncclGroupStart() and ncclGroupEnd(): what they are, for the other ranks to compare, and what they do.
struct Group {
  bool is_open = false;
  HostNcclRanks* ranks = nullptr;
  std::string calls;
  std::vector<std::function<void()>> work;
} group;

std::size_t bytes_of(ncclDataType_t type) { return type == ncclFloat64 ? 8 : type == ncclFloat32 ? 4 : 2; }

template <class T>
T at(const std::byte* values, std::size_t i) {
  T value;
  std::memcpy(&value, values + i * sizeof(T), sizeof(T));
  return value;
}

/// In the order of the ranks.
template <class T, class Sum>
void add_slots(const HostNcclRanks& ranks, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Sum sum = 0;
    for (int rank = 0; rank < ranks.size; ++rank) sum += static_cast<Sum>(at<T>(ranks.slot(rank), i));
    const T rounded(sum);
    std::memcpy(to + i * sizeof(T), &rounded, sizeof(T));
  }
}

/// receive(begin, bytes) after each piece of `bytes` bytes that the ranks have put into their slots.
void exchange(const HostNcclRanks& ranks, const std::byte* send, std::size_t bytes,
              const std::function<void(std::size_t, std::size_t)>& receive) {
  for (std::size_t begin = 0; begin < bytes; begin += kSlot) {
    const std::size_t piece = std::min(kSlot, bytes - begin);
    if (send != nullptr) std::memcpy(ranks.slot(ranks.rank), send + begin, piece);
    ranks.wait();
    receive(begin, piece);
    ranks.wait();
  }
}

/// @param to  null: this rank gets no sum
void reduce(const HostNcclRanks& ranks, const std::byte* send, std::byte* to, std::size_t count, ncclDataType_t type) {
  exchange(ranks, send, count * bytes_of(type), [&](std::size_t begin, std::size_t bytes) {
    if (to == nullptr) return;
    const std::size_t elements = bytes / bytes_of(type);
    if (type == ncclFloat64) add_slots<double, double>(ranks, to + begin, elements);
    if (type == ncclFloat32) add_slots<float, float>(ranks, to + begin, elements);
    if (type == ncclBfloat16) add_slots<c10::BFloat16, float>(ranks, to + begin, elements);
  });
}

void broadcast(const HostNcclRanks& ranks, const std::byte* send, std::byte* to, std::size_t bytes, int root) {
  exchange(ranks, ranks.rank == root ? send : nullptr, bytes,
           [&](std::size_t begin, std::size_t piece) { std::memcpy(to + begin, ranks.slot(root), piece); });
}

/// A call's memory, which may be a stand-in's (tests/standin).
struct Memory {
  Memory(const char* call, const void* send, void* receive, cudaStream_t stream) {
    from = static_cast<const std::byte*>(drift::standin::kernel_memory(send, /*writes=*/false, call, stream));
    to = static_cast<std::byte*>(drift::standin::kernel_memory(receive, /*writes=*/true, call, stream));
  }
  const std::byte* from;
  std::byte* to;
};

ncclResult_t call(const std::string& name, std::size_t count, ncclDataType_t type, int root, ncclComm_t ranks,
                  std::function<void()> work) {
  group.ranks = ranks;
  group.calls += name + ' ' + std::to_string(count) + ' ' + std::to_string(type) + ' ' + std::to_string(root) + '\n';
  group.work.push_back(std::move(work));
  return group.is_open ? ncclSuccess : ncclGroupEnd();
}

bool all_make_the_same(const HostNcclRanks& ranks, const std::string& calls) {
  std::size_t* const all = ranks.state->calls;
  all[ranks.rank] = std::hash<std::string>()(calls);
  ranks.wait();
  const bool is_same = std::count(all, all + ranks.size, all[ranks.rank]) == ranks.size;
  ranks.wait();
  return is_same;
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSystemError ? "no shared memory" : "the ranks make different calls";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "/drift_nccl_%d_%d", static_cast<int>(::getpid()), made++);
  const int file = ::shm_open(id->internal, O_CREAT | O_EXCL, 0600);
  if (file < 0) return ncclSystemError;
  ::close(file);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* ranks, int size, ncclUniqueId id, int rank) {
  auto* const made = new HostNcclRanks{rank, size, nullptr};
  const int file = ::shm_open(id.internal, O_RDWR, 0600);
  if (size > kMostRanks || file < 0 || ::ftruncate(file, static_cast<off_t>(made->bytes())) != 0)
    return ncclSystemError;
  void* const memory = ::mmap(nullptr, made->bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  made->state = static_cast<SharedState*>(memory);
  if (rank == 0) {
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&made->state->barrier, &shared, static_cast<unsigned>(size));
    made->state->is_ready = true;
  }
  while (!made->state->is_ready) ::usleep(1000);
  made->wait();
  if (rank == 0) ::shm_unlink(id.internal);
  *ranks = made;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t ranks) {
  ::munmap(ranks->state, ranks->bytes());
  delete ranks;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  group.is_open = true;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const Group ended = std::exchange(group, {});
  if (ended.ranks == nullptr) return ncclSuccess;
  if (!all_make_the_same(*ended.ranks, ended.calls)) return ncclInvalidUsage;
  for (const auto& work : ended.work) work();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t ranks, cudaStream_t stream) {
  return call("all reduce", count, type, 0, ranks, [=] {
    const Memory memory("ncclAllReduce", send, receive, stream);
    reduce(*ranks, memory.from, memory.to, count, type);
  });
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t ranks, cudaStream_t stream) {
  return call("reduce scatter", count, type, 0, ranks, [=] {
    const Memory memory("ncclReduceScatter", send, receive, stream);
    for (int root = 0; root < ranks->size; ++root) {
      const std::byte* const part = memory.from + static_cast<std::size_t>(root) * count * bytes_of(type);
      reduce(*ranks, part, root == ranks->rank ? memory.to : nullptr, count, type);
    }
  });
}

ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t ranks,
                           cudaStream_t stream) {
  return call("all gather", count, type, 0, ranks, [=] {
    const Memory memory("ncclAllGather", send, receive, stream);
    const std::size_t bytes = count * bytes_of(type);
    for (int root = 0; root < ranks->size; ++root)
      broadcast(*ranks, memory.from, memory.to + static_cast<std::size_t>(root) * bytes, bytes, root);
  });
}

ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t, int root,
                        ncclComm_t ranks, cudaStream_t stream) {
  return call("reduce", count, type, root, ranks, [=] {
    const bool receives = ranks->rank == root;
    const Memory memory("ncclReduce", send, receives ? receive : nullptr, stream);
    reduce(*ranks, memory.from, memory.to, count, type);
  });
}

ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t ranks, cudaStream_t stream) {
  return call("broadcast", count, type, root, ranks, [=] {
    const Memory memory("ncclBroadcast", ranks->rank == root ? send : nullptr, receive, stream);
    broadcast(*ranks, memory.from, memory.to, count * bytes_of(type), root);
  });
}
