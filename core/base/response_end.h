#pragma once

#include <drift/model.h>
#include <drift/params.h>
#include <drift/trajectories.h>

namespace drift {

/// Whether `after_end` of [rollout], or of what stands for it, is "dropped".
bool drops_after_end(const Parameters& rollout);

/// What stands behind the first token that ends a response is no longer valid: it is not judged, shown or trained on.
void drop_after_end(const ModelTraits& traits, Trajectories& made);

}  // namespace drift
