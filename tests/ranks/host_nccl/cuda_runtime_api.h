#pragma once

// Of CUDA what core/ranks/nccl uses, for nccl.h beside this.

enum cudaError_t { cudaSuccess };
using cudaStream_t = void*;

inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetPCIBusId(char* name, int, int) {
  *name = '\0';
  return cudaSuccess;
}
