#pragma once

// Stand-ins with LibTorch's sizes, only for recording the ABI: the contents of LibTorch's types are not ours to promise
// (a plugin needs an equal LibTorch), and would make the record a hundred times longer.

#include <cstdint>

namespace at {

class Tensor {
  void* implementation_;
};

enum class ScalarType : std::int8_t { Float = 6 };
constexpr ScalarType kFloat = ScalarType::Float;

enum class DeviceType : std::int8_t { CPU = 0 };
constexpr DeviceType kCPU = DeviceType::CPU;

class Device {
 public:
  Device(DeviceType type) : type_(type) {}

 private:
  DeviceType type_;
  std::int8_t index_ = -1;
};

}  // namespace at
