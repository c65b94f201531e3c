#pragma once

#include <core/kernels/cuda/target.h>

namespace drift::kernels::DRIFT_TARGET {

Status rms_norm(const cuda::RmsNormCall& call, Stream stream);
Status rms_norm_backward(const cuda::RmsNormBackwardCall& call, Stream stream);
Status rotate(const cuda::RotateCall& call, Stream stream);
Status swiglu(const cuda::SwigluCall& call, Stream stream);
Status logit_sums(const cuda::LogitSumsCall& call, Stream stream);
Status logit_gradient(const cuda::LogitGradientCall& call, Stream stream);
Status uniform(const cuda::UniformCall& call, Stream stream);
Status sample(const cuda::SampleCall& call, Stream stream);
Status choose_commits(const cuda::CommitCall& call, Stream stream);
Status adamw(const cuda::AdamwCall& call, Stream stream);
Status widen_nf4(const cuda::WidenNf4Call& call, Stream stream);
Status dropout(const cuda::DropoutCall& call, Stream stream);

/// All of them.
inline cuda::KernelTable kernel_table(const char* (*describe)(Status)) {
  return {rms_norm, rms_norm_backward, rotate, swiglu,    logit_sums, logit_gradient, uniform,
          sample,   choose_commits,    adamw,  widen_nf4, dropout,    describe};
}

}  // namespace drift::kernels::DRIFT_TARGET
