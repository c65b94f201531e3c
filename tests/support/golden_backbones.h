#pragma once

// The golden data of backbones, tests/golden/data: tiny checkpoints made with the original model code, and what that
// code computes with them.

#include "tests/support/support.h"

#include <drift/model.h>
#include <drift/params.h>

#include <core/eval/logit_check.h>
#include <core/io/adapter_files.h>

namespace drift::test {

/// One case of a manifest.json; what a case does not have is empty.
struct GoldenBackboneCase {
  std::string id;
  std::string family;  ///< name of the plugin
  std::string mode;    ///< of a forward: plain, long, leftpad_…, cache_…
  std::filesystem::path checkpoint;
  std::filesystem::path file;
  double absolute_tolerance = 0, relative_tolerance = 0;
  double bfloat16_tolerance = 0;                      ///< for arithmetic in bfloat16; 0: the case has none
  std::int64_t window_begin = 0, window_end = 0;      ///< of a cache mode
  double loss = 0;                                    ///< of a log-probability case
  std::map<std::string, double> gradient_tolerances;  ///< by the tensor's name
};

/// The cases of a group ("forward", "logp").
std::vector<GoldenBackboneCase> golden_backbone_cases(const std::string& group);
/// The forward cases that say how far arithmetic in bfloat16 may be.
std::vector<GoldenBackboneCase> golden_bfloat16_cases();

/// A checkpoint opened as the program opens it.
std::unique_ptr<Model> open_checkpoint(const std::string& family, const std::filesystem::path& folder,
                                       at::ScalarType dtype = at::kFloat, at::Device device = at::kCPU,
                                       const std::map<std::string, Parameter::Value>& settings = {});

/// The same with adapters, whose tensors the caller fills.
std::unique_ptr<Model> open_with_adapters(const std::string& family, const std::filesystem::path& folder,
                                          const AdapterDescription& adapter);

/// The logits of a forward case, computed with weights and arithmetic of `dtype`, against the reference.
LogitComparison check_forward_case(const GoldenBackboneCase& golden, at::ScalarType dtype = at::kFloat,
                                   at::Device device = at::kCPU);

/// Log-probabilities, loss and gradients of a log-probability case as training scores them, against the reference.
/// Fails the running test where they differ.
void check_log_probability_case(const GoldenBackboneCase& golden, at::Device device = at::kCPU);

}  // namespace drift::test
