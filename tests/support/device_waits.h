#pragma once

// How often the host waits for a GPU, counted by LibTorch's sync-debug mode.

#include <functional>

namespace drift::test {

/// Whether this LibTorch exports the mode. Its library is loaded with the device.
bool can_count_waits();

int waits_of(const std::function<void()>& work);

}  // namespace drift::test
