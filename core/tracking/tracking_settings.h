#pragma once

#include <drift/params.h>

#include <cstdint>
#include <string>

namespace drift {

/// What `[report]` asks for.
struct TrackingSettings {
  bool tensorboard = false, wandb = false;
  std::string project;       ///< of Weights & Biases
  std::int64_t samples = 0;  ///< responses of each step, as texts

  bool any() const { return tensorboard || wandb; }

  static TrackingSettings from(const Params& section) {
    return {section.get<bool>("tensorboard"), section.get<std::string>("wandb") == "offline",
            section.get<std::string>("wandb_project"), section.get<std::int64_t>("samples")};
  }
};

}  // namespace drift
