#pragma once

#include <core/config/run_config.h>

#include <drift/registry.h>

#include <string>

namespace drift {

/// The algorithm of a run as its title: "a"; where a part is not the algorithm's own, "a with loss b" or "a with
/// masking c and loss b".
std::string method_name(const Registry& registry, const RunConfig& config);

}  // namespace drift
