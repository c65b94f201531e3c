#include <core/kernels/cuda/emulator.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace drift::kernels::emulated {

Index threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr std::size_t kStackBytes = 32 << 10;
constexpr std::size_t kLanesOfWarp = 32;

enum class State { kRuns, kAtBarrier, kAtExchange, kEnded };

/// AddressSanitizer must know which stack is in use.
struct StackSwitch {
  void* kept = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;

#if defined(__SANITIZE_ADDRESS__)
  void leave_for(const StackSwitch& other) { __sanitizer_start_switch_fiber(&kept, other.bottom, other.size); }
  void leave_for_ever(const StackSwitch& other) { __sanitizer_start_switch_fiber(nullptr, other.bottom, other.size); }
  /// @param from  whose stack was left: it becomes known
  void arrive(StackSwitch& from) { __sanitizer_finish_switch_fiber(kept, &from.bottom, &from.size); }
#else
  void leave_for(const StackSwitch&) {}
  void leave_for_ever(const StackSwitch&) {}
  void arrive(StackSwitch&) {}
#endif
};

#if defined(__x86_64__)
/// Where a stack goes on: its pointer, below the registers that a call preserves.
using Place = void*;

/// Returns when something goes on at `from`. The library's own functions ask the system for a signal mask each time.
__attribute__((naked, noinline)) void change(Place*, Place*) {
  asm("pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
      "movq %rsp, (%rdi)\n movq (%rsi), %rsp\n"
      "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}

/// Calls `entry` when something goes on there.
void prepare(Place& place, char* stack, void (*entry)()) {
  auto* top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(stack + kStackBytes) / 16 * 16);
  top[-1] = nullptr;  // where entry would return to
  top[-2] = reinterpret_cast<void*>(entry);
  std::fill(top - 8, top - 2, nullptr);
  place = top - 8;
}
#else
using Place = ucontext_t;

void change(Place* from, Place* to) { swapcontext(from, to); }

void prepare(Place& place, char* stack, void (*entry)()) {
  getcontext(&place);
  place.uc_stack.ss_sp = stack;
  place.uc_stack.ss_size = kStackBytes;
  place.uc_link = nullptr;
  makecontext(&place, entry, 0);
}
#endif

struct Fibre {
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  Place here = {};
  State state = State::kRuns;
  const char* file = "";
  unsigned line = 0;
  std::uint64_t given[2] = {};  // of this exchange, and of the last, which slower lanes may still read
  unsigned exchanges = 0;
  StackSwitch at;
};

struct Machine {
  std::vector<Fibre> fibres;
  std::size_t current = 0;
  Place scheduler = {};
  StackSwitch at;
  const std::function<void()>* thread = nullptr;
  std::map<std::string, std::unique_ptr<std::vector<unsigned char>>> shared;
  std::unique_ptr<std::vector<unsigned char>> dynamic_shared;
  bool reverse = false;
  std::exception_ptr failure;
};

Machine machine;

void enter() {
  Fibre& self = machine.fibres[machine.current];
  self.at.arrive(machine.at);
  try {
    (*machine.thread)();
  } catch (...) {
    machine.failure = std::current_exception();
  }
  self.state = State::kEnded;
  self.at.leave_for_ever(machine.at);
  change(&self.here, &machine.scheduler);
}

void resume(std::size_t index) {
  Fibre& fibre = machine.fibres[index];
  machine.current = index;
  threadIdx.x = static_cast<unsigned>(index);
  machine.at.leave_for(fibre.at);
  change(&machine.scheduler, &fibre.here);
  StackSwitch ignored;
  machine.at.arrive(ignored);
  if (machine.failure) std::rethrow_exception(std::exchange(machine.failure, nullptr));
}

void wait(State state, const char* file, unsigned line) {
  Fibre& self = machine.fibres[machine.current];
  self.state = state;
  self.file = file;
  self.line = line;
  self.at.leave_for(machine.at);
  change(&self.here, &machine.scheduler);
  self.at.arrive(machine.at);
}

std::string place(const Fibre& fibre) {
  switch (fibre.state) {
    case State::kEnded: return "has ended";
    case State::kRuns: return "runs";
    default: return "waits at " + std::string(fibre.file) + ":" + std::to_string(fibre.line);
  }
}

/// Lets threads [first, last) go on if all wait at one place. @return whether they do
bool release(std::size_t first, std::size_t last, State state) {
  for (std::size_t i = first; i < last; ++i) {
    const Fibre &fibre = machine.fibres[i], &leader = machine.fibres[first];
    if (fibre.state != state || fibre.line != leader.line || std::strcmp(fibre.file, leader.file) != 0) return false;
  }
  for (std::size_t i = first; i < last; ++i) machine.fibres[i].state = State::kRuns;
  return true;
}

/// @return whether a thread of the block is left
bool release_those_who_wait() {
  const std::size_t threads = machine.fibres.size();
  bool released = false, left = false;
  for (std::size_t first = 0; first < threads; first += kLanesOfWarp) {
    released |= release(first, first + kLanesOfWarp, State::kAtExchange);
  }
  released = released || release(0, threads, State::kAtBarrier);
  for (const Fibre& fibre : machine.fibres) left |= fibre.state != State::kEnded;
  if (released || !left) return left;
  std::string what = "not all threads of block " + std::to_string(blockIdx.x) + " reach the same place:";
  std::string last;
  for (std::size_t i = 0; i < threads; ++i) {
    const std::string where = place(machine.fibres[i]);
    if (where != last) what += " thread " + std::to_string(i) + " " + where + ";";
    last = where;
  }
  throw std::logic_error(what);
}

void run_block(int threads) {
  for (auto& [name, bytes] : machine.shared) std::fill(bytes->begin(), bytes->end(), 0xFF);
  std::fill(machine.dynamic_shared->begin(), machine.dynamic_shared->end(), 0xFF);
  for (Fibre& fibre : machine.fibres) {
    prepare(fibre.here, fibre.stack.get(), enter);
    fibre.state = State::kRuns;
    fibre.exchanges = 0;
    fibre.at = {nullptr, fibre.stack.get(), kStackBytes};
#if defined(__SANITIZE_ADDRESS__)
    // What a thread left that never ended.
    __asan_unpoison_memory_region(fibre.stack.get(), kStackBytes);
#endif
  }
  do {
    for (int i = 0; i < threads; ++i) {
      const auto index = static_cast<std::size_t>(machine.reverse ? threads - 1 - i : i);
      if (machine.fibres[index].state == State::kRuns) resume(index);
    }
  } while (release_those_who_wait());
}

}  // namespace

void run_in_reverse(bool reverse) { machine.reverse = reverse; }

void run(const Grid& grid, const std::function<void()>& thread) {
  if (grid.threads < 1 || grid.threads % static_cast<int>(kLanesOfWarp) != 0 || grid.threads > 1024) {
    throw std::logic_error("a block of " + std::to_string(grid.threads) + " threads is not of whole warps");
  }
  machine.fibres.resize(static_cast<std::size_t>(grid.threads));
  machine.thread = &thread;
  machine.shared.clear();
  machine.dynamic_shared =
      std::make_unique<std::vector<unsigned char>>(static_cast<std::size_t>(grid.dynamic_shared_bytes));
  blockDim.x = static_cast<unsigned>(grid.threads);
  gridDim.x = static_cast<unsigned>(grid.blocks);
  for (std::int64_t i = 0; i < grid.blocks; ++i) {
    blockIdx.x = static_cast<unsigned>(machine.reverse ? grid.blocks - 1 - i : i);
    run_block(grid.threads);
  }
}

void* shared_bytes(const char* name, std::size_t size) {
  auto& bytes = machine.shared[name];
  if (!bytes) bytes = std::make_unique<std::vector<unsigned char>>(size, 0xFF);
  return bytes->data();
}

void* dynamic_shared_bytes(std::size_t size) {
  const std::size_t given = machine.dynamic_shared->size();
  if (size > given) {
    throw std::logic_error("the kernel uses " + std::to_string(size) + " bytes of dynamic shared memory, and its " +
                           "launch gave " + std::to_string(given));
  }
  return machine.dynamic_shared->data();
}

void wait_for_block(const char* file, unsigned line) { wait(State::kAtBarrier, file, line); }

std::uint64_t exchange(std::uint64_t value, int lane, const char* file, unsigned line) {
  Fibre& self = machine.fibres[machine.current];
  const unsigned slot = self.exchanges++ % 2;
  self.given[slot] = value;
  wait(State::kAtExchange, file, line);
  return machine.fibres[machine.current / kLanesOfWarp * kLanesOfWarp + static_cast<std::size_t>(lane)].given[slot];
}

}  // namespace drift::kernels::emulated
