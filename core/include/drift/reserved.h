#pragma once

#include <array>
#include <cstddef>

namespace drift {

/// Space for fields of later minor versions. A public structure has one size for all of core ABI 1, whoever creates it
/// and wherever it is used; a later version turns the first slot into a field of type T:
///
///     at::Tensor value_BL;                          // since 1.1
///     Reserved<at::Tensor, 3> reserved_tensors = {};  // was 4
/// An unused slot has T's default (an undefined tensor, 0, an empty text). In the field that it becomes, that value
/// must mean the same as the structure without the field (docs/plugin_abi.md).
template <class T, std::size_t N>
struct Reserved {
  std::array<T, N> unused{};
};

}  // namespace drift
