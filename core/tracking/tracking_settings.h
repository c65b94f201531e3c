#pragma once

#include <drift/params.h>

#include <cstdint>

namespace drift {

/// What `[report]` asks for.
struct TrackingSettings {
  bool tensorboard = false;
  std::int64_t samples = 0;  ///< responses of each step, as texts

  static TrackingSettings from(const Params& section) {
    return {section.get<bool>("tensorboard"), section.get<std::int64_t>("samples")};
  }
};

}  // namespace drift
