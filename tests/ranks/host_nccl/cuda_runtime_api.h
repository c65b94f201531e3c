#pragma once

// Of CUDA what core/ranks/nccl uses, for nccl.h beside this.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

enum cudaError_t { cudaSuccess };
using cudaStream_t = void*;

inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
/// Each process has a GPU of its own, but for those that are told which.
inline cudaError_t cudaDeviceGetPCIBusId(char* name, int length, int) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::snprintf(name, static_cast<std::size_t>(length), "%s",
                visible != nullptr ? visible : std::to_string(::getpid()).c_str());
  return cudaSuccess;
}
