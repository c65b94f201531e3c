#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace drift {

/// Bytes that a program could still take on the device: on the CPU what the system calls available, within the limit of
/// the process's control group; on a GPU what is free. Nothing if it is unknown.
std::optional<std::int64_t> available_memory(at::Device device);

/// All bytes of the device, whatever runs there; on the CPU those of the machine, within the control group's limit.
std::optional<std::int64_t> total_memory(at::Device device);

/// Bytes of this process that are in memory now.
std::int64_t resident_memory();

}  // namespace drift
