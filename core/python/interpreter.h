#pragma once

namespace drift::python {

/// Find a Python and start it in this process, once: the one that DRIFT_PYTHON names, that of the active virtual
/// environment, or python3 in PATH. It is never ended.
/// @throws Error if there is none that can be loaded
void start_interpreter();

}  // namespace drift::python
