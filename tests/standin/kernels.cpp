// libdrift_cuda.so for the stand-in: the sources of the CUDA kernels by the emulator, on the alias of device memory.

#include "kernel_memory.h"

#include <core/kernels/cuda/emulated.h>

#include <mutex>
#include <source_location>
#include <vector>

namespace drift::kernels::cuda {
namespace {

/// Of one call: its pointers to device memory become those of the host.
class Pointers {
 public:
  Pointers(const char* kernel, Stream stream) : kernel_(kernel), stream_(stream) {}

  /// What is const is read, what is not is written.
  template <class... T>
  void operator()(T*&... pointers) const {
    ((pointers = static_cast<T*>(standin::kernel_memory(pointers, /*writes=*/!std::is_const_v<T>, kernel_, stream_))),
     ...);
  }

 private:
  const char* kernel_;
  Stream stream_;
};

// The pointers of each call. One that is left out is found as an access of the host, in the kernel.
void translate(RmsNormCall& c, const Pointers& to_host) { to_host(c.x, c.weight, c.y, c.inverse); }
void translate(RmsNormBackwardCall& c, const Pointers& to_host) {
  to_host(c.gradient, c.x, c.weight, c.inverse, c.dx, c.partial);
}
void translate(RotateCall& c, const Pointers& to_host) { to_host(c.dense, c.headed, c.cosine, c.sine); }
void translate(SwigluCall& c, const Pointers& to_host) { to_host(c.gate, c.up, c.y, c.gradient, c.dgate, c.dup); }
void translate(LogitSumsCall& c, const Pointers& to_host) {
  to_host(c.logits, c.largest, c.total, c.weighted, c.target_row, c.target_token, c.target_logit);
}
void translate(LogitGradientCall& c, const Pointers& to_host) {
  to_host(c.logits, c.log_total, c.entropy, c.target_row, c.target_token, c.target_logit, c.gradient,
          c.entropy_gradient);
}
void translate(UniformCall& c, const Pointers& to_host) { to_host(c.response, c.position, c.draw, c.uniform); }
void translate(SampleCall& c, const Pointers& to_host) {
  to_host(c.logits, c.row, c.uniform, c.token, c.logprob, c.confidence_out);
}
void translate(CommitCall& c, const Pointers& to_host) { to_host(c.score, c.count, c.chosen, c.failed); }
void translate(WidenNf4Call& c, const Pointers& to_host) { to_host(c.codes, c.scale_codes, c.scales, c.out); }
void translate(DropoutCall& c, const Pointers& to_host) { to_host(c.x, c.key, c.out); }
void translate(AdamwTensorCall& c, const Pointers& to_host) {
  to_host(c.weight, c.first, c.second, c.gradient, c.rounded);
}
void translate(AdamwCall& c, const Pointers& to_host) {
  static thread_local std::vector<AdamwTensorCall> tensors;
  tensors.assign(c.tensors, c.tensors + c.count);
  for (AdamwTensorCall& tensor : tensors) translate(tensor, to_host);
  c.tensors = tensors.data();
  to_host(c.diverged);
}

template <auto kernel, class Call>
Status run_emulated(const Call& call, Stream stream) {
  static std::mutex one_machine;
  const std::lock_guard lock(one_machine);
  Call on_host = call;
  translate(on_host, Pointers(std::source_location::current().function_name(), stream));
  return (emulated_kernels().*kernel)(on_host, stream);
}

}  // namespace
}  // namespace drift::kernels::cuda

extern "C" __attribute__((visibility("default"))) const drift::kernels::cuda::KernelTable* drift_cuda_kernels() {
  using namespace drift::kernels::cuda;
  using T = KernelTable;
  static constexpr KernelTable kTable{
      .rms_norm = run_emulated<&T::rms_norm>,
      .rms_norm_backward = run_emulated<&T::rms_norm_backward>,
      .rotate = run_emulated<&T::rotate>,
      .swiglu = run_emulated<&T::swiglu>,
      .logit_sums = run_emulated<&T::logit_sums>,
      .logit_gradient = run_emulated<&T::logit_gradient>,
      .uniform = run_emulated<&T::uniform>,
      .sample = run_emulated<&T::sample>,
      .choose_commits = run_emulated<&T::choose_commits>,
      .adamw = run_emulated<&T::adamw>,
      .widen_nf4 = run_emulated<&T::widen_nf4>,
      .dropout = run_emulated<&T::dropout>,
      .describe = [](Status) { return "the emulator does not fail"; },
  };
  return &kTable;
}
