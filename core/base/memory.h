#pragma once

namespace drift {

/// Keep the memory that is freed for what is allocated next, instead of giving it back to the system. Tensors of a
/// training step are freed and allocated again by the thousand; fresh pages of the system have to be cleared first.
/// For the whole process; to be called once, at its start.
void keep_freed_memory();

}  // namespace drift
