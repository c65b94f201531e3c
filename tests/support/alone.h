#pragma once

#include <core/ranks/ranks.h>

namespace drift::test {

/// For what is collective, in a test of one process.
inline Ranks alone;

}  // namespace drift::test
