#pragma once

#include <string>

namespace drift::code {

/// The filter of system calls as the kernel takes it (an array of sock_filter), for this machine's architecture.
/// The list of allowed calls: those that a single Python process needs to compute and to use its own files. What
/// attacks need fails with EPERM, everything else with ENOSYS, so that a newer C library falls back to what it used
/// before. A call by another architecture's numbers (32-bit, x32) kills the process.
/// @param threads  whether threads may be started.
/// @param forks    whether processes may be: copies of itself, in no other namespace.
/// @throws drift::Error if libseccomp cannot make one for this architecture.
std::string system_call_filter(bool threads, bool forks);

/// One that a process can add for itself: it refuses new processes and nothing else.
std::string process_filter();

}  // namespace drift::code
