#pragma once

// The part of NCCL that core/ranks/nccl uses, between processes of one host in memory that they share (host_nccl.cpp).
// Where NCCL would wait for ever, because the ranks make different calls, this is an error.

#include <cuda_runtime_api.h>

#include <cstddef>

struct ncclUniqueId {
  char internal[128];
};
struct HostNcclRanks;
using ncclComm_t = HostNcclRanks*;
enum ncclResult_t { ncclSuccess, ncclSystemError, ncclInvalidUsage };
enum ncclDataType_t { ncclFloat32, ncclFloat64, ncclBfloat16 };
enum ncclRedOp_t { ncclSum };

const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* ranks, int size, ncclUniqueId id, int rank);
ncclResult_t ncclCommAbort(ncclComm_t ranks);

ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t sum,
                           ncclComm_t ranks, cudaStream_t stream);
/// @param count  of each rank's part
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t sum,
                               ncclComm_t ranks, cudaStream_t stream);
/// @param count  of each rank's part
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t ranks,
                           cudaStream_t stream);
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t sum,
                        int root, ncclComm_t ranks, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t ranks, cudaStream_t stream);
