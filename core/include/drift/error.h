#pragma once

// throw drift::Error("rollout.length = 100 is not a multiple of rollout.block = 32",
//                    "choose a block that divides the length");
//
// is printed as
//
//     error: rollout `block` of plugin `block`: rollout.length = 100 is not a multiple of rollout.block = 32
//        = choose a block that divides the length

#include <drift/export.h>

#include <stdexcept>
#include <string>

namespace drift {

/// An error that the user can act on: what is wrong, and what to do. Thrown by the core and by plugins; the host adds
/// the plugin, component and step where it was thrown. Programming mistakes are assertions, not errors.
class DRIFT_API Error : public std::runtime_error {
 public:
  /// @param what  one sentence: what is wrong, and where (file, line, key, step).
  /// @param hint  what to do, or empty.
  explicit Error(const std::string& what, std::string hint = {}) : std::runtime_error(what), hint_(std::move(hint)) {}

  const std::string& hint() const noexcept { return hint_; }

 private:
  std::string hint_;
};

}  // namespace drift
